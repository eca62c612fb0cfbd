// Extended-precision integer arithmetic. The carry is a predicate slot, the last operand. A
// subtraction sets it to "no borrow", so that additions and subtractions can be mixed.
#include "emulator/exec/ops/arithmetic/rows.hpp"

namespace lode::emulator::exec {

namespace {

enum : u32 { carry_in = 1, carry_out = 2 };

template <class U>
struct Wide;
template <>
struct Wide<u32> {
    using type = u64;
};
template <>
struct Wide<u64> {
    using type = u128;
};

/// r[0] = x + y + carry, where f provides x and y.
template <class U, u32 mode, class F>
const Op* with_carry(WarpContext& c, const Op* op, Slot carry_slot, u32 start, F f) {
    U* d = destination<U>(c, op->r[0]);
    u32& carry = predicate_destination(c, carry_slot);
    const u32 in = (mode & carry_in) != 0 ? carry : start;
    u32 out = carry;
    each_lane(c.mask, [&](u32 i) {
        const auto [x, y] = f(i);
        const auto sum = typename Wide<U>::type{x} + y + ((in >> i) & 1);
        d[i] = static_cast<U>(sum);
        const u32 over = static_cast<u32>(sum >> (sizeof(U) * 8)) & 1;
        out = (out & ~(1u << i)) | (over << i);
    });
    if constexpr ((mode & carry_out) != 0) carry = out;
    return op + 1;
}

template <class U>
struct Pair {
    U x, y;
};

template <class U, u32 mode>
const Op* add(WarpContext& c, const Op* op) {
    const U* a = source<U>(c, op->r[1]);
    const U* b = source<U>(c, op->r[2]);
    return with_carry<U, mode>(c, op, op->r[3], 0, [=](u32 i) { return Pair<U>{a[i], b[i]}; });
}

template <class U, u32 mode>
const Op* subtract(WarpContext& c, const Op* op) {
    const U* a = source<U>(c, op->r[1]);
    const U* b = source<U>(c, op->r[2]);
    return with_carry<U, mode>(c, op, op->r[3], all_lanes, [=](u32 i) {
        return Pair<U>{a[i], static_cast<U>(~b[i])};
    });
}

template <class U, class S, bool high, u32 mode>
const Op* multiply_add(WarpContext& c, const Op* op) {
    const U* a = source<U>(c, op->r[1]);
    const U* b = source<U>(c, op->r[2]);
    const U* e = source<U>(c, op->r[3]);
    return with_carry<U, mode>(c, op, op->r[4], 0, [=](u32 i) {
        using W = typename Wide<U>::type;
        W product;
        if constexpr (std::is_signed_v<S>) {
            using V = std::conditional_t<sizeof(U) == 4, i64, i128>;
            product = static_cast<W>(V{static_cast<S>(a[i])} * static_cast<S>(b[i]));
        } else {
            product = W{a[i]} * b[i];
        }
        return Pair<U>{static_cast<U>(high ? product >> (sizeof(U) * 8) : product), e[i]};
    });
}

#define LODE_CARRY_MADS(type, U, S, letters)                                             \
    {"mad.lo.cc." type, &multiply_add<U, S, false, carry_out>, letters},                 \
        {"mad.hi.cc." type, &multiply_add<U, S, true, carry_out>, letters},              \
        {"madc.lo." type, &multiply_add<U, S, false, carry_in>, letters},                \
        {"madc.hi." type, &multiply_add<U, S, true, carry_in>, letters},                 \
        {"madc.lo.cc." type, &multiply_add<U, S, false, carry_in | carry_out>, letters}, \
        {"madc.hi.cc." type, &multiply_add<U, S, true, carry_in | carry_out>, letters},

constexpr OpRow carry_table[] = {
    {"add.cc.u32 add.cc.s32", &add<u32, carry_out>, "wwwp"},
    {"addc.u32 addc.s32", &add<u32, carry_in>, "wwwp"},
    {"addc.cc.u32 addc.cc.s32", &add<u32, carry_in | carry_out>, "wwwp"},
    {"add.cc.u64 add.cc.s64", &add<u64, carry_out>, "dddp"},
    {"addc.u64 addc.s64", &add<u64, carry_in>, "dddp"},
    {"addc.cc.u64 addc.cc.s64", &add<u64, carry_in | carry_out>, "dddp"},
    {"sub.cc.u32 sub.cc.s32", &subtract<u32, carry_out>, "wwwp"},
    {"subc.u32 subc.s32", &subtract<u32, carry_in>, "wwwp"},
    {"subc.cc.u32 subc.cc.s32", &subtract<u32, carry_in | carry_out>, "wwwp"},
    {"sub.cc.u64 sub.cc.s64", &subtract<u64, carry_out>, "dddp"},
    {"subc.u64 subc.s64", &subtract<u64, carry_in>, "dddp"},
    {"subc.cc.u64 subc.cc.s64", &subtract<u64, carry_in | carry_out>, "dddp"},
    LODE_CARRY_MADS("u32", u32, u32, "wwwwp") LODE_CARRY_MADS("s32", u32, i32, "wwwwp")
        LODE_CARRY_MADS("u64", u64, u64, "ddddp") LODE_CARRY_MADS("s64", u64, i64, "ddddp")};

}  // namespace

std::span<const OpRow> carry_rows() {
    return carry_table;
}

}  // namespace lode::emulator::exec
