// Integers packed in 32 bits: pairs of 16 bits, dot products, video instructions.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>
#include <cstdlib>

namespace lode::emulator::exec::testing {

namespace {

/// Element `k`, which has `width` bits.
i64 element(Bits word, u32 k, u32 width, bool is_signed) {
    const u64 bits = (word >> (k * width)) & ((u64{1} << width) - 1);
    const bool minus = is_signed && (bits >> (width - 1)) != 0;
    return static_cast<i64>(bits) - (minus ? i64{1} << width : 0);
}
Bits placed(i64 value, u32 k, u32 width) {
    return (static_cast<u64>(value) & ((u64{1} << width) - 1)) << (k * width);
}

template <class F>
Reference pairs(bool is_signed, F f) {
    return [=](Bits a, Bits b, Bits) {
        Bits result = 0;
        for (u32 k = 0; k < 2; ++k) {
            result |= placed(f(element(a, k, 16, is_signed), element(b, k, 16, is_signed)), k, 16);
        }
        return result;
    };
}

void add_pairs(Comparisons& all) {
    const std::string types = "b32 b32 b32";
    for (const bool s : {false, true}) {
        const std::string t = s ? ".s16x2" : ".u16x2";
        const auto form = [&](const std::string& name, Reference f) {
            all.push_back(compared(Form{name + t, types, std::move(f)}));
        };
        form("add", pairs(s, [](i64 a, i64 b) { return a + b; }));
        form("min", pairs(s, [](i64 a, i64 b) { return std::min(a, b); }));
        form("max", pairs(s, [](i64 a, i64 b) { return std::max(a, b); }));
        if (!s) continue;
        form("min.relu", pairs(s, [](i64 a, i64 b) { return std::max<i64>(0, std::min(a, b)); }));
        form("max.relu", pairs(s, [](i64 a, i64 b) { return std::max<i64>(0, std::max(a, b)); }));
    }
}

void add_dots(Comparisons& all) {
    const std::string types = "b32 b32 b32 b32";
    for (const bool x : {false, true}) {
        for (const bool y : {false, true}) {
            const std::string kinds = std::string(x ? ".s32" : ".u32") + (y ? ".s32" : ".u32");
            all.push_back(compared(Form{"dp4a" + kinds, types, [=](Bits a, Bits b, Bits c) {
                                            i64 sum = static_cast<i64>(c);
                                            for (u32 k = 0; k < 4; ++k)
                                                sum += element(a, k, 8, x) * element(b, k, 8, y);
                                            return static_cast<Bits>(sum);
                                        }}));
            for (const u32 first : {0u, 2u}) {
                const std::string name = first == 0 ? "dp2a.lo" : "dp2a.hi";
                all.push_back(compared(Form{name + kinds, types, [=](Bits a, Bits b, Bits c) {
                                                i64 sum = static_cast<i64>(c);
                                                for (u32 k = 0; k < 2; ++k) {
                                                    sum += element(a, k, 16, x) *
                                                           element(b, first + k, 8, y);
                                                }
                                                return static_cast<Bits>(sum);
                                            }}));
            }
        }
    }
}

i64 video_result(const std::string& what, i64 a, i64 b) {
    if (what == "vadd") return a + b;
    if (what == "vsub") return a - b;
    if (what == "vabsdiff") return std::abs(a - b);
    if (what == "vmin") return std::min(a, b);
    if (what == "vmax") return std::max(a, b);
    // Halves round away from zero: up for non-negative sums, down for negative ones.
    return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
}

void add_video(Comparisons& all) {
    for (const char* const what : {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"}) {
        for (const u32 width : {8u, 16u}) {
            for (u32 kinds = 0; kinds < 8; ++kinds) {
                const bool d = (kinds & 1) != 0;
                const bool x = (kinds & 2) != 0;
                const bool y = (kinds & 4) != 0;
                std::string name = what;
                name += width == 8 ? "4" : "2";
                for (const bool sign : {d, x, y})
                    name += sign ? ".s32" : ".u32";
                const std::string operation = what;
                const auto one = [=](Bits a, Bits b, u32 k) {
                    return video_result(operation, element(a, k, width, x),
                                        element(b, k, width, y));
                };
                const i64 lowest = d ? -(i64{1} << (width - 1)) : 0;
                const i64 highest = (i64{1} << (d ? width - 1 : width)) - 1;
                const std::string types = "b32 b32 b32 b32";
                for (const bool sat : {false, true}) {
                    all.push_back(compared(Form{
                        name + (sat ? ".sat" : ""), types, [=](Bits a, Bits b, Bits) {
                            Bits result = 0;
                            for (u32 k = 0; k < 32 / width; ++k) {
                                const i64 value = one(a, b, k);
                                result |= placed(sat ? std::clamp(value, lowest, highest) : value,
                                                 k, width);
                            }
                            return result;
                        }}));
                }
                all.push_back(compared(Form{name + ".add", types, [=](Bits a, Bits b, Bits c) {
                                                i64 sum = static_cast<i64>(c);
                                                for (u32 k = 0; k < 32 / width; ++k)
                                                    sum += one(a, b, k);
                                                return static_cast<Bits>(sum);
                                            }}));
            }
        }
    }
}

}  // namespace

static Comparisons packed_integer_family() {
    Comparisons all;
    add_pairs(all);
    add_dots(all);
    add_video(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: packed integers equal their scalar reference at the edges",
                   packed_integer_family)

}  // namespace lode::emulator::exec::testing
