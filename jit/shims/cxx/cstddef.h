#pragma once
#include <stddef.h>

namespace std {
using ::max_align_t;
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;

#if __cplusplus >= 201703L
enum class byte : unsigned char {};

template <class Integer>
__host__ __device__ constexpr Integer to_integer(byte b) noexcept {
    return static_cast<Integer>(b);
}
__host__ __device__ constexpr byte operator|(byte a, byte b) noexcept {
    return byte(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
__host__ __device__ constexpr byte operator&(byte a, byte b) noexcept {
    return byte(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
__host__ __device__ constexpr byte operator^(byte a, byte b) noexcept {
    return byte(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}
__host__ __device__ constexpr byte operator~(byte b) noexcept {
    return byte(~static_cast<unsigned>(b) & 0xffu);
}
template <class Shift>
__host__ __device__ constexpr byte operator<<(byte b, Shift by) noexcept {
    return byte((static_cast<unsigned>(b) << by) & 0xffu);
}
template <class Shift>
__host__ __device__ constexpr byte operator>>(byte b, Shift by) noexcept {
    return byte(static_cast<unsigned>(b) >> by);
}
#endif
}  // namespace std
