#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/real.hpp"

#include <limits>

namespace lode::emulator::exec {

namespace {

u32 funnel_left(u32 low, u32 high, u32 n) {
    return static_cast<u32>((((u64{high} << 32) | low) << n) >> 32);
}
u32 funnel_right(u32 low, u32 high, u32 n) {
    return static_cast<u32>(((u64{high} << 32) | low) >> n);
}

u32 population(u32 a) {
    a -= (a >> 1) & 0x55555555;
    a = (a & 0x33333333) + ((a >> 2) & 0x33333333);
    return (((a + (a >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
}

u32 reverse32(u32 a) {
    a = ((a >> 1) & 0x55555555) | ((a & 0x55555555) << 1);
    a = ((a >> 2) & 0x33333333) | ((a & 0x33333333) << 2);
    a = ((a >> 4) & 0x0f0f0f0f) | ((a & 0x0f0f0f0f) << 4);
    a = ((a >> 8) & 0x00ff00ff) | ((a & 0x00ff00ff) << 8);
    return (a >> 16) | (a << 16);
}

/// The highest bit that differs from the sign; all ones if there is none.
template <class U, class S>
u32 find_sign(S a) {
    const U value = static_cast<U>(a < 0 ? ~a : a);
    return value == 0
               ? ~0u
               : std::numeric_limits<U>::digits - 1 - static_cast<u32>(std::countl_zero(value));
}

/// The n-th set bit from `base`, upwards for n > 0, downwards for n < 0; all ones if there is none.
u32 nth_set(u32 mask, u32 base, i32 n) {
    if (base > 31) return ~0u;
    // The least offset has no absolute value, and devices find bit 0.
    if (n == std::numeric_limits<i32>::min()) return 0;
    if (n == 0) return bit(mask, base) ? base : ~0u;
    i32 left = n > 0 ? n : -n;
    const i32 step = n > 0 ? 1 : -1;
    for (i32 at = static_cast<i32>(base); at >= 0 && at < 32; at += step) {
        if (bit(mask, static_cast<u32>(at)) && --left == 0) return static_cast<u32>(at);
    }
    return ~0u;
}

/// The position or length of a bit field: its low byte for 32-bit values, or the whole operand for
/// 64-bit values, which devices process with clamping shifts. Clamped to the width.
template <class U>
u32 field_edge(u32 a) {
    constexpr u32 width = std::numeric_limits<U>::digits;
    if (width == 32) a &= 255;
    return a < width ? a : width;
}

template <class U, class T>
U extract(U a, u32 position, u32 length) {
    constexpr u32 top = std::numeric_limits<U>::digits - 1;
    position = field_edge<U>(position);
    length = field_edge<U>(length);
    U sign = 0;
    if (std::is_signed_v<T> && length != 0) {
        const u32 at = position + length - 1 < top ? position + length - 1 : top;
        sign = ((a >> at) & 1) != 0 ? ~U{0} : 0;
    }
    const U field = position > top ? 0 : a >> position;
    const u32 kept =
        position > top ? 0 : (length < top + 1 - position ? length : top + 1 - position);
    const U low = kept > top ? ~U{0} : (U{1} << kept) - 1;
    const U want = length > top ? ~U{0} : (U{1} << length) - 1;
    const U value = (field & low) | (sign & want & ~low);
    return std::is_signed_v<T> ? value | (sign & ~want) : value;
}

template <class U>
U insert(U field, U base, u32 position, u32 length) {
    constexpr u32 width = std::numeric_limits<U>::digits;
    position = field_edge<U>(position);
    length = field_edge<U>(length);
    if (position >= width || length == 0) return base;
    const U ones = length >= width ? ~U{0} : (U{1} << length) - 1;
    return (base & ~(ones << position)) | ((field & ones) << position);
}

u32 make_mask(u32 position, u32 width) {
    const u64 ones = width > 31 ? 0xffff'ffff : (u64{1} << (width & 31)) - 1;
    return position > 31 ? 0 : static_cast<u32>(ones << (position & 31));
}

u32 sign_extend(u32 a, u32 n) {
    const u32 left = 32 - n;
    const auto moved = static_cast<i32>(n == 0 ? 0 : a << (left & 31));
    return static_cast<u32>(moved >> (left & 31));
}

u32 permute(u32 a, u32 b, u32 selector) {
    const u64 bytes = (u64{b} << 32) | a;
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
        const u32 pick = selector >> (4 * i);
        u32 byte = static_cast<u32>(bytes >> ((pick & 7) * 8)) & 0xff;
        if ((pick & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

u32 backward_selector(u32 e) {
    constexpr u32 table[] = {0x5670, 0x6701, 0x7012, 0x0123};
    return table[e & 3];
}
u32 edge_left(u32 e) {
    constexpr u32 table[] = {0x3210, 0x3211, 0x3222, 0x3333};
    return table[e & 3];
}
u32 edge_right(u32 e) {
    constexpr u32 table[] = {0x0000, 0x1110, 0x2210, 0x3210};
    return table[e & 3];
}

/// lop3; flags hold the truth table.
const Op* logic3(WarpContext& c, const Op* op) {
    const u32* a = source<u32>(c, op->r[1]);
    const u32* b = source<u32>(c, op->r[2]);
    const u32* e = source<u32>(c, op->r[3]);
    const u32 table = op->flags.as<u16>();
    u32 on[8];
    for (u32 i = 0; i < 8; ++i)
        on[i] = ((table >> i) & 1) != 0 ? ~0u : 0;
    assign(c, destination<u32>(c, op->r[0]), [=](u32 i) {
        const u32 x = a[i];
        const u32 y = b[i];
        const u32 z = e[i];
        const u32 low = (~y & ((~z & on[0]) | (z & on[1]))) | (y & ((~z & on[2]) | (z & on[3])));
        const u32 high = (~y & ((~z & on[4]) | (z & on[5]))) | (y & ((~z & on[6]) | (z & on[7])));
        return (~x & low) | (x & high);
    });
    return op + 1;
}

template <class U>
const Op* insert_field(WarpContext& c, const Op* op) {
    const U* field = source<U>(c, op->r[1]);
    const U* base = source<U>(c, op->r[2]);
    const u32* position = source<u32>(c, op->r[3]);
    const u32* length = source<u32>(c, op->r[4]);
    assign_each(c, destination<U>(c, op->r[0]),
                [=](u32 i) { return insert<U>(field[i], base[i], position[i], length[i]); });
    return op + 1;
}

template <auto f>
const Op* predicate2(WarpContext& c, const Op* op) {
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, f(predicate(c, op->r[1]), predicate(c, op->r[2])), c.mask);
    return op + 1;
}

const Op* predicate_not(WarpContext& c, const Op* op) {
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, ~predicate(c, op->r[1]), c.mask);
    return op + 1;
}

const Op* predicate_move(WarpContext& c, const Op* op) {
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, predicate(c, op->r[1]), c.mask);
    return op + 1;
}

template <class T>
const Op* select(WarpContext& c, const Op* op) {
    const T* a = source<T>(c, op->r[1]);
    const T* b = source<T>(c, op->r[2]);
    const u32 chosen = predicate(c, op->r[3]);
    assign(c, destination<T>(c, op->r[0]),
           [=](u32 i) { return ((chosen >> i) & 1) != 0 ? a[i] : b[i]; });
    return op + 1;
}

/// slct: a if c >= 0, otherwise b. RealFlags: flush denormals in c.
template <class T, class C>
const Op* select_by_sign(WarpContext& c, const Op* op) {
    const T* a = source<T>(c, op->r[1]);
    const T* b = source<T>(c, op->r[2]);
    const C* by = source<C>(c, op->r[3]);
    if constexpr (std::is_same_v<C, f32>) {
        if (op->flags.as<RealFlags>().flush) {
            assign(c, destination<T>(c, op->r[0]),
                   [=](u32 i) { return flushed(by[i]) >= 0 ? a[i] : b[i]; });
            return op + 1;
        }
    }
    assign(c, destination<T>(c, op->r[0]), [=](u32 i) { return by[i] >= C{0} ? a[i] : b[i]; });
    return op + 1;
}

constexpr Handler bits_table[] = {
#include "emulator/isa/rows/bits.def"
};

}  // namespace

std::span<const Handler> bits_handlers() {
    return bits_table;
}

}  // namespace lode::emulator::exec
