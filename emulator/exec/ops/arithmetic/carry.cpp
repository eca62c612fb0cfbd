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

constexpr Handler carry_table[] = {
#include "emulator/isa/rows/carry.def"
};

}  // namespace

std::span<const Handler> carry_handlers() {
    return carry_table;
}

}  // namespace lode::emulator::exec
