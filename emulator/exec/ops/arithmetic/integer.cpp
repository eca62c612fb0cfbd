#include "emulator/exec/ops/arithmetic/rows.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

/// Clamps a and b to `bits` bits with T's signedness and packs them, with b in the low half.
template <class T, u32 bits>
u32 packed_pair(i32 a, i32 b) {
    constexpr i32 highest = std::is_signed_v<T> ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    constexpr i32 lowest = std::is_signed_v<T> ? -(1 << (bits - 1)) : 0;
    constexpr u32 mask = (1u << bits) - 1;
    const u32 upper = static_cast<u32>(std::clamp(a, lowest, highest)) & mask;
    return upper << bits | (static_cast<u32>(std::clamp(b, lowest, highest)) & mask);
}

i32 add_sat(i32 a, i32 b) {
    return static_cast<i32>(std::clamp<i64>(i64{a} + b, INT32_MIN, INT32_MAX));
}
i32 sub_sat(i32 a, i32 b) {
    return static_cast<i32>(std::clamp<i64>(i64{a} - b, INT32_MIN, INT32_MAX));
}
i32 low24(u32 a) {
    return static_cast<i32>(a << 8) >> 8;
}

/// Quotients and remainders by vectors, which have doubles for it: that of two numbers of 32 bits
/// is never rounded up to the next number.
u32 quotient(u32 a, u32 b) {
    const auto made = static_cast<u32>(static_cast<f64>(a) / static_cast<f64>(b == 0 ? 1 : b));
    return b == 0 ? ~0u : made;
}
u32 remainder(u32 a, u32 b) {
    const u32 made = a - quotient(a, b) * b;
    return b == 0 ? ~0u : made;
}

/// f of each pair of T of which the words consist.
template <class T, class F>
u32 each_part(u32 a, u32 b, F f) {
    u32 result = 0;
    for (u32 k = 0; k < 32; k += 8 * sizeof(T)) {
        const auto part = static_cast<T>(f(static_cast<T>(a >> k), static_cast<T>(b >> k)));
        result |= u32{static_cast<std::make_unsigned_t<T>>(part)} << k;
    }
    return result;
}
/// The nearest number that T has.
template <class T>
i32 clamped(i32 value) {
    return std::clamp<i32>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

template <class A, class B>
u32 dot4(u32 a, u32 b) {
    i32 sum = 0;
    for (int i = 0; i < 32; i += 8)
        sum += i32{static_cast<A>(a >> i)} * static_cast<B>(b >> i);
    return static_cast<u32>(sum);
}

template <class A, class B>
u32 dot2(u32 a, u32 b) {
    return static_cast<u32>(i32{static_cast<A>(a)} * static_cast<B>(b) +
                            i32{static_cast<A>(a >> 16)} * static_cast<B>(b >> 8));
}

constexpr Handler integer_table[] = {
#include "emulator/isa/rows/integer.def"
};

}  // namespace

std::span<const Handler> integer_handlers() {
    return integer_table;
}

}  // namespace lode::emulator::exec
