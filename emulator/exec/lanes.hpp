// Loops over the 32 lanes of a warp, in forms that the compiler vectorises.
#pragma once

#include "emulator/exec/warp_context.hpp"
#include "emulator/isa/real.hpp"
#include "emulator/isa/set.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace lode::emulator::exec {

/// Represents a predicate operand in the templates below.
struct Predicate {};

template <class T>
[[gnu::always_inline]] inline T* destination(WarpContext& c, Slot slot) noexcept {
    return static_cast<T*>(__builtin_assume_aligned(c.area[0] + slot, 32));
}
template <class T>
[[gnu::always_inline]] inline const T* source(const WarpContext& c, Slot slot) noexcept {
    return static_cast<const T*>(
        __builtin_assume_aligned(c.area[slot >> area_shift] + (slot & offset_mask), 32));
}
[[gnu::always_inline]] inline u32& predicate_destination(WarpContext& c, Slot slot) noexcept {
    return *reinterpret_cast<u32*>(c.area[0] + slot);
}
[[gnu::always_inline]] inline u32 predicate(const WarpContext& c, Slot slot) noexcept {
    return *reinterpret_cast<const u32*>(c.area[slot >> area_shift] + (slot & offset_mask));
}
[[gnu::always_inline]] inline bool bit(u32 mask, u32 lane) noexcept {
    return ((mask >> lane) & 1) != 0;
}
/// Replaces those bits of `old` that are set in `mask`.
[[gnu::always_inline]] inline u32 merged(u32 old, u32 fresh, u32 mask) noexcept {
    return (old & ~mask) | (fresh & mask);
}

/// Calls f(lane) for each set bit, lowest first.
template <class F>
[[gnu::always_inline]] inline void each_lane(u32 mask, F&& f) {
    for (; mask != 0; mask &= mask - 1)
        f(static_cast<u32>(std::countr_zero(mask)));
}

/// Bit i for lane i: loops that shift 64 bits by the lane aren't vectorised.
template <class Word>
inline constexpr auto lane_bits = [] {
    std::array<Word, lanes> bits{};
    for (u32 i = 0; i < lanes; ++i)
        bits[i] = Word{1} << i;
    return bits;
}();

/// The mask of the lanes where f(lane) holds, for an f that compares values of type T.
template <class T, class F>
[[gnu::always_inline]] inline u32 lanes_where(F&& f) noexcept {
    using Word = std::conditional_t<sizeof(T) == 8, u64, u32>;
    Word bits = 0;
    for (u32 i = 0; i < lanes; ++i)
        bits |= f(i) ? lane_bits<Word>[i] : Word{0};
    return static_cast<u32>(bits);
}

/// Declares that the iterations of the next loop are independent. Clang checks it at run time.
#ifdef __clang__
#define LODE_INDEPENDENT_LANES
#else
#define LODE_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

/// Sets d[lane] = f(lane) for each active lane. Evaluates f for all lanes and blends, so that the
/// loop vectorises.
template <class D, class F>
[[gnu::always_inline]] inline void assign(WarpContext& c, D* d, F&& f) {
    if (c.mask == all_lanes) {
        LODE_INDEPENDENT_LANES
        for (u32 i = 0; i < lanes; ++i)
            d[i] = f(i);
    } else {
        const u32 mask = c.mask;
        LODE_INDEPENDENT_LANES
        for (u32 i = 0; i < lanes; ++i) {
            const D fresh = f(i);
            d[i] = ((mask >> i) & 1) != 0 ? fresh : d[i];
        }
    }
}

/// Like assign(), but only evaluates f for active lanes: for functions that are expensive or unsafe
/// in inactive lanes.
template <class D, class F>
[[gnu::always_inline]] inline void assign_each(WarpContext& c, D* d, F&& f) {
    each_lane(c.mask, [&](u32 i) { d[i] = f(i); });
}

// One result per lane from one, two or three sources ----------------------------------------------

template <class D, class A, auto f>
const Op* map1(WarpContext& c, const Op* op) {
    const A* a = source<A>(c, op->r[1]);
    assign(c, destination<D>(c, op->r[0]), [=](u32 i) { return static_cast<D>(f(a[i])); });
    return op + 1;
}

template <class D, class A, class B, auto f>
const Op* map2(WarpContext& c, const Op* op) {
    const A* a = source<A>(c, op->r[1]);
    const B* b = source<B>(c, op->r[2]);
    assign(c, destination<D>(c, op->r[0]), [=](u32 i) { return static_cast<D>(f(a[i], b[i])); });
    return op + 1;
}

template <class D, class A, class B, class C, auto f>
const Op* map3(WarpContext& c, const Op* op) {
    const A* a = source<A>(c, op->r[1]);
    const B* b = source<B>(c, op->r[2]);
    const C* e = source<C>(c, op->r[3]);
    assign(c, destination<D>(c, op->r[0]),
           [=](u32 i) { return static_cast<D>(f(a[i], b[i], e[i])); });
    return op + 1;
}

/// Like map1 to map3, but only for active lanes and with the op's RealFlags as the last argument of
/// f.
template <class D, class A, auto f>
const Op* each1(WarpContext& c, const Op* op) {
    const A* a = source<A>(c, op->r[1]);
    const auto flags = op->flags.as<RealFlags>();
    assign_each(c, destination<D>(c, op->r[0]),
                [=](u32 i) { return static_cast<D>(f(a[i], flags)); });
    return op + 1;
}

template <class D, class A, class B, auto f>
const Op* each2(WarpContext& c, const Op* op) {
    const A* a = source<A>(c, op->r[1]);
    const B* b = source<B>(c, op->r[2]);
    const auto flags = op->flags.as<RealFlags>();
    assign_each(c, destination<D>(c, op->r[0]),
                [=](u32 i) { return static_cast<D>(f(a[i], b[i], flags)); });
    return op + 1;
}

template <class D, class A, class B, class C, auto f>
const Op* each3(WarpContext& c, const Op* op) {
    const A* a = source<A>(c, op->r[1]);
    const B* b = source<B>(c, op->r[2]);
    const C* e = source<C>(c, op->r[3]);
    const auto flags = op->flags.as<RealFlags>();
    assign_each(c, destination<D>(c, op->r[0]),
                [=](u32 i) { return static_cast<D>(f(a[i], b[i], e[i], flags)); });
    return op + 1;
}

/// The mask of the lanes where f(r[1], r[2]) holds.
template <class A, auto f>
[[gnu::always_inline]] inline u32 compare_lanes(const WarpContext& c, const Op* op) noexcept {
    const A* a = source<A>(c, op->r[1]);
    const A* b = source<A>(c, op->r[2]);
    return lanes_where<A>([=](u32 i) { return f(a[i], b[i]); });
}

/// setp: r[0] = f(a, b).
template <class A, auto f>
const Op* compare(WarpContext& c, const Op* op) {
    const u32 bits = compare_lanes<A, f>(c, op);
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, bits, c.mask);
    return op + 1;
}

/// setp with r[0] = f(a, b) combined with r[3]; flags: a Combination.
/// r[4], if present, is the combination of !f(a, b) with r[3].
template <class A, auto f>
const Op* compare_combined(WarpContext& c, const Op* op) {
    const u32 bits = compare_lanes<A, f>(c, op);
    const auto combination = op->flags.as<Combination>();
    const u32 other = combination != Combination::none ? predicate(c, op->r[3]) : 0;
    const auto combine = [&](u32 value) {
        switch (combination) {
            case Combination::bit_and:
                return value & other;
            case Combination::bit_or:
                return value | other;
            case Combination::bit_xor:
                return value ^ other;
            case Combination::none:
                break;
        }
        return value;
    };
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, combine(bits), c.mask);
    if (op->r[4] != no_slot) {
        u32& q = predicate_destination(c, op->r[4]);
        q = merged(q, combine(~bits), c.mask);
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
