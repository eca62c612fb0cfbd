#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>

namespace lode::emulator::testing {

namespace {

using i16 = std::int16_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

u32 clamp_shift(u64 b) {
    return static_cast<u32>(b);
}

const std::vector<Form>& forms() {
    static const std::vector<Form> all = {
        {"add.s32 d, a, b;", "s32 s32 s32", on<u32>([](u32 a, u32 b) { return a + b; })},
        {"add.sat.s32 d, a, b;", "s32 s32 s32", on<i32>([](i32 a, i32 b) {
             return static_cast<i32>(std::clamp<i64>(i64{a} + b, INT32_MIN, INT32_MAX));
         })},
        {"add.u16 d, a, b;", "u16 u16 u16",
         on<u16>([](u16 a, u16 b) { return static_cast<u16>(a + b); })},
        {"sub.s64 d, a, b;", "s64 s64 s64", on<u64>([](u64 a, u64 b) { return a - b; })},
        {"sub.sat.s32 d, a, b;", "s32 s32 s32", on<i32>([](i32 a, i32 b) {
             return static_cast<i32>(std::clamp<i64>(i64{a} - b, INT32_MIN, INT32_MAX));
         })},
        {"mul.lo.s32 d, a, b;", "s32 s32 s32", on<u32>([](u32 a, u32 b) { return a * b; })},
        {"mul.lo.s64 d, a, b;", "s64 s64 s64", on<u64>([](u64 a, u64 b) { return a * b; })},
        {"mul.hi.s32 d, a, b;", "s32 s32 s32",
         on<i32>([](i32 a, i32 b) { return static_cast<i32>((i64{a} * b) >> 32); })},
        {"mul.hi.u32 d, a, b;", "u32 u32 u32",
         on<u32>([](u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32); })},
        {"mul.hi.s64 d, a, b;", "s64 s64 s64",
         on<i64>([](i64 a, i64 b) { return static_cast<i64>((i128{a} * b) >> 64); })},
        {"mul.hi.u64 d, a, b;", "u64 u64 u64",
         on<u64>([](u64 a, u64 b) { return static_cast<u64>((u128{a} * b) >> 64); })},
        {"mul.hi.u16 d, a, b;", "u16 u16 u16",
         on<u16>([](u16 a, u16 b) { return static_cast<u16>((u32{a} * b) >> 16); })},
        {"mul.wide.s32 d, a, b;", "s64 s32 s32", on<i32>([](i32 a, i32 b) { return i64{a} * b; })},
        {"mul.wide.u32 d, a, b;", "u64 u32 u32", on<u32>([](u32 a, u32 b) { return u64{a} * b; })},
        {"mul.wide.s16 d, a, b;", "s32 s16 s16", on<i16>([](i16 a, i16 b) { return i32{a} * b; })},
        {"mul24.lo.s32 d, a, b;", "s32 s32 s32", on<u32>([](u32 a, u32 b) {
             const i64 x = static_cast<i32>(a << 8) >> 8;
             const i64 y = static_cast<i32>(b << 8) >> 8;
             return static_cast<u32>(x * y);
         })},
        {"mad.lo.s32 d, a, b, c;", "s32 s32 s32 s32",
         on<u32>([](u32 a, u32 b, u32 c) { return a * b + c; })},
        {"mad.hi.u32 d, a, b, c;", "u32 u32 u32 u32",
         on<u32>([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} * b) >> 32) + c; })},
        {"mad.wide.u32 d, a, b, c;", "u64 u32 u32 u64",
         [](Bits a, Bits b, Bits c) { return a * b + c; }},
        {"mad.lo.s64 d, a, b, c;", "s64 s64 s64 s64",
         on<u64>([](u64 a, u64 b, u64 c) { return a * b + c; })},
        {"sad.s32 d, a, b, c;", "s32 s32 s32 s32", on<u32>([](u32 a, u32 b, u32 c) {
             return static_cast<i32>(a) < static_cast<i32>(b) ? c + (b - a) : c + (a - b);
         })},
        {"div.s32 d, a, b;", "s32 s32 s32",
         on<i32>([](i32 a, i32 b) { return b == 0 ? -1 : static_cast<i32>(i64{a} / b); })},
        {"div.u32 d, a, b;", "u32 u32 u32",
         on<u32>([](u32 a, u32 b) { return b == 0 ? ~0u : a / b; })},
        {"rem.s32 d, a, b;", "s32 s32 s32",
         on<i32>([](i32 a, i32 b) { return b == 0 ? a : static_cast<i32>(i64{a} % b); })},
        {"div.s64 d, a, b;", "s64 s64 s64",
         on<i64>([](i64 a, i64 b) { return b == 0 ? -1 : static_cast<i64>(i128{a} / b); })},
        {"rem.u64 d, a, b;", "u64 u64 u64",
         on<u64>([](u64 a, u64 b) { return b == 0 ? a : a % b; })},
        {"abs.s32 d, a;", "s32 s32",
         on<u32>([](u32 a) { return static_cast<i32>(a) < 0 ? 0 - a : a; })},
        {"abs.s64 d, a;", "s64 s64",
         on<u64>([](u64 a) { return static_cast<i64>(a) < 0 ? 0 - a : a; })},
        {"neg.s16 d, a;", "s16 s16", on<u16>([](u16 a) { return static_cast<u16>(0 - a); })},
        {"min.s32 d, a, b;", "s32 s32 s32", on<i32>([](i32 a, i32 b) { return std::min(a, b); })},
        {"max.u64 d, a, b;", "u64 u64 u64", on<u64>([](u64 a, u64 b) { return std::max(a, b); })},
        {"min.s16x2 d, a, b;", "u32 u32 u32", on<u32>([](u32 a, u32 b) {
             const auto low = static_cast<u16>(std::min(static_cast<i16>(a), static_cast<i16>(b)));
             const auto high =
                 static_cast<u16>(std::min(static_cast<i16>(a >> 16), static_cast<i16>(b >> 16)));
             return low | (u32{high} << 16);
         })},
        {"shl.b32 d, a, b;", "b32 b32 u32",
         [](Bits a, Bits b, Bits) { return clamp_shift(b) > 31 ? 0 : a << b; }},
        {"shl.b16 d, a, b;", "b16 b16 u32",
         [](Bits a, Bits b, Bits) { return clamp_shift(b) > 15 ? 0 : a << b; }},
        {"shl.b64 d, a, b;", "b64 b64 u32",
         [](Bits a, Bits b, Bits) { return clamp_shift(b) > 63 ? 0 : a << b; }},
        {"shr.u32 d, a, b;", "u32 u32 u32",
         [](Bits a, Bits b, Bits) { return clamp_shift(b) > 31 ? 0 : a >> b; }},
        {"shr.s32 d, a, b;", "s32 s32 u32",
         [](Bits a, Bits b,
            Bits) { return bits_of_value(value_of<i32>(a) >> std::min<u32>(clamp_shift(b), 31)); }},
        {"shr.s64 d, a, b;", "s64 s64 u32",
         [](Bits a, Bits b,
            Bits) { return bits_of_value(value_of<i64>(a) >> std::min<u32>(clamp_shift(b), 63)); }},
        {"shf.l.wrap.b32 d, a, b, c;", "b32 b32 b32 u32", on<u32>([](u32 a, u32 b, u32 c) {
             return static_cast<u32>((((u64{b} << 32) | a) << (c & 31)) >> 32);
         })},
        {"shf.r.clamp.b32 d, a, b, c;", "b32 b32 b32 u32", on<u32>([](u32 a, u32 b, u32 c) {
             return static_cast<u32>(((u64{b} << 32) | a) >> std::min(c, 32u));
         })},
        {"not.b64 d, a;", "b64 b64", on<u64>([](u64 a) { return ~a; })},
        {"cnot.b32 d, a;", "b32 b32", on<u32>([](u32 a) { return a == 0 ? 1u : 0u; })},
        {"popc.b64 d, a;", "u32 b64",
         on<u64>([](u64 a) { return static_cast<u32>(std::popcount(a)); })},
        {"clz.b32 d, a;", "u32 b32",
         on<u32>([](u32 a) { return static_cast<u32>(std::countl_zero(a)); })},
        {"bfind.u32 d, a;", "u32 u32",
         on<u32>([](u32 a) { return static_cast<u32>(31 - std::countl_zero(a)); })},
        {"bfind.shiftamt.s64 d, a;", "u32 s64", on<i64>([](i64 a) {
             const auto plain = static_cast<u64>(a < 0 ? ~a : a);
             return plain == 0 ? ~0u : static_cast<u32>(std::countl_zero(plain));
         })},
        {"bfe.u32 d, a, b, c;", "u32 u32 u32 u32", on<u32>([](u32 a, u32 b, u32 c) {
             b &= 255;
             c &= 255;
             u32 result = 0;
             for (u32 k = 0; k < std::min(c, 32u); ++k) {
                 if (b + k < 32) result |= ((a >> (b + k)) & 1) << k;
             }
             return result;
         })},
        {"bfe.s32 d, a, b, c;", "s32 s32 u32 u32", on<u32>([](u32 a, u32 b, u32 c) {
             b &= 255;
             c &= 255;
             const u32 sign = c == 0 ? 0 : (a >> std::min(b + c - 1, 31u)) & 1;
             u32 result = 0;
             for (u32 k = 0; k < 32; ++k) {
                 const u32 from = k < c && b + k < 32 ? (a >> (b + k)) & 1 : sign;
                 result |= from << k;
             }
             return result;
         })},
        {"bfi.b32 d, a, b, c, 9;", "b32 b32 b32 u32", on<u32>([](u32 a, u32 b, u32 c) {
             c &= 255;
             for (u32 k = 0; k < 9 && c + k < 32; ++k) {
                 b = (b & ~(1u << (c + k))) | (((a >> k) & 1) << (c + k));
             }
             return b;
         })},
        {"prmt.b32 d, a, b, c;", "b32 b32 b32 b32", on<u32>([](u32 a, u32 b, u32 c) {
             u32 result = 0;
             for (u32 k = 0; k < 4; ++k) {
                 const u32 pick = (c >> (4 * k)) & 15;
                 u32 byte = static_cast<u32>(((u64{b} << 32) | a) >> (8 * (pick & 7))) & 255;
                 if (pick > 7) byte = byte > 127 ? 255 : 0;
                 result |= byte << (8 * k);
             }
             return result;
         })},
        {"lop3.b32 d, a, b, c, 0xd8;", "b32 b32 b32 b32", on<u32>([](u32 a, u32 b, u32 c) {
             u32 result = 0;
             for (u32 k = 0; k < 32; ++k) {
                 const u32 row = (((a >> k) & 1) << 2) | (((b >> k) & 1) << 1) | ((c >> k) & 1);
                 result |= ((0xd8u >> row) & 1) << k;
             }
             return result;
         })},
        {"bmsk.clamp.b32 d, a, b;", "b32 u32 u32", on<u32>([](u32 a, u32 b) {
             u32 result = 0;
             for (u32 k = 0; k < 32; ++k) {
                 if (k >= a && u64{k} < u64{a} + b) result |= 1u << k;
             }
             return result;
         })},
        {"dp4a.s32.u32 d, a, b, c;", "s32 b32 b32 s32", on<u32>([](u32 a, u32 b, u32 c) {
             for (u32 k = 0; k < 32; k += 8) {
                 c += static_cast<u32>(static_cast<std::int8_t>(a >> k) *
                                       static_cast<std::uint8_t>(b >> k));
             }
             return c;
         })},
        {"vabsdiff4.u32.u32.u32.add d, a, b, c;", "u32 u32 u32 u32",
         on<u32>([](u32 a, u32 b, u32 c) {
             for (u32 k = 0; k < 32; k += 8) {
                 const int x = static_cast<std::uint8_t>(a >> k);
                 const int y = static_cast<std::uint8_t>(b >> k);
                 c += static_cast<u32>(std::abs(x - y));
             }
             return c;
         })},
        {"setp.lt.s32 p, a, b; selp.b32 d, 5, 9, p;", "b32 s32 s32",
         on<i32>([](i32 a, i32 b) { return a < b ? 5 : 9; })},
        {"setp.hs.u64 p, a, b; selp.b32 d, 5, 9, p;", "b32 u64 u64",
         on<u64>([](u64 a, u64 b) { return a >= b ? 5 : 9; })},
        {"setp.gt.s32 q, a, 7; setp.eq.or.b32 p, a, b, !q; selp.b32 d, 1, 0, p;", "b32 s32 s32",
         on<i32>([](i32 a, i32 b) { return a == b || !(a > 7) ? 1 : 0; })},
        {"set.le.u32.s32 d, a, b;", "u32 s32 s32",
         on<i32>([](i32 a, i32 b) { return a <= b ? ~0u : 0u; })},
        {"slct.b32.s32 d, a, b, c;", "b32 b32 b32 s32",
         on<i32>([](i32 a, i32 b, i32 c) { return c >= 0 ? a : b; })},
        {"add.cc.u32 d, a, b; addc.u32 d, c, 0;", "u32 u32 u32 u32",
         on<u32>([](u32 a, u32 b, u32 c) { return c + static_cast<u32>((u64{a} + b) >> 32); })},
        {"sub.cc.u32 d, a, b; subc.u32 d, c, 0;", "u32 u32 u32 u32",
         on<u32>([](u32 a, u32 b, u32 c) { return a < b ? c - 1 : c; })},
        {"mad.lo.cc.u32 d, a, b, c; madc.hi.u32 d, a, b, c;", "u32 u32 u32 u32",
         on<u32>([](u32 a, u32 b, u32 c) {
             const u32 carry = static_cast<u32>((u64{a * b} + c) >> 32);
             return static_cast<u32>((u64{a} * b) >> 32) + c + carry;
         })},
    };
    return all;
}

}  // namespace

TEST_CASE("opcode: integer forms equal their scalar reference at the edges") {
    for (const Form& form : forms()) {
        if (form.reference) check_form(form);
    }
}

TEST_CASE("opcode: conversions between integers extend, cut and clamp") {
    check_form({"cvt.s64.s32 d, a;", "s64 s32", on<i32>([](i32 a) { return i64{a}; })});
    check_form({"cvt.u64.u32 d, a;", "u64 u32", on<u32>([](u32 a) { return u64{a}; })});
    check_form(
        {"cvt.u16.u32 d, a;", "u16 u32", on<u32>([](u32 a) { return static_cast<u16>(a); })});
    check_form({"cvt.s32.s8 d, a;", "s32 b32",
                on<u32>([](u32 a) { return i32{static_cast<std::int8_t>(a)}; })});
    check_form({"cvt.sat.s16.s32 d, a;", "s16 s32",
                on<i32>([](i32 a) { return static_cast<i16>(std::clamp(a, -32768, 32767)); })});
    check_form({"cvt.sat.u32.s64 d, a;", "u32 s64", on<i64>([](i64 a) {
                    return static_cast<u32>(std::clamp<i64>(a, 0, UINT32_MAX));
                })});
    check_form({"cvt.sat.u8.u32 d, a;", "u16 u32",
                on<u32>([](u32 a) { return static_cast<u16>(std::min(a, 255u)); })});
}

TEST_CASE("opcode: moves pack and unpack") {
    check_form(
        {"mov.b64 d, {a, b};", "b64 b32 b32", [](Bits a, Bits b, Bits) { return (b << 32) | a; }});
    check_form({"mov.b32 {a, b}, c; cvt.u32.u16 d, b;", "b32 u16 u16 b32",
                [](Bits, Bits, Bits c) { return (c >> 16) & 0xffff; }});
    check_form({"mov.b64 {a, _}, c; mov.b32 d, a;", "b32 b32 b32 b64",
                [](Bits, Bits, Bits c) { return c & 0xffffffff; }});
}

}  // namespace lode::emulator::testing
