// The functions are NVRTC's own; this adds the macros.
#pragma once

// libcu++ defines the macros INFINITY and NAN unconditionally. If the compiler supports it, these
// are constants here, so that they don't conflict with libcu++'s macros.
#if __cplusplus >= 201703L && defined(__has_builtin)
#if __has_builtin(__builtin_bit_cast)
#define __LODE_CONSTANTS
#endif
#endif

#ifndef INFINITY
#ifdef __LODE_CONSTANTS
[[maybe_unused]] static constexpr float INFINITY = __builtin_bit_cast(float, 0x7f800000);
#else
#define INFINITY (__int_as_float(0x7f800000))
#endif
#endif
#ifndef NAN
#ifdef __LODE_CONSTANTS
[[maybe_unused]] static constexpr float NAN = __builtin_bit_cast(float, 0x7fffffff);
#else
#define NAN (__int_as_float(0x7fffffff))
#endif
#endif
#undef __LODE_CONSTANTS
#ifndef HUGE_VAL
#define HUGE_VAL (__longlong_as_double(0x7ff0000000000000LL))
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#endif

#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
