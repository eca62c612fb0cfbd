#pragma once
#include <math.h>

namespace std {
using ::abs;
using ::acos;
using ::acosf;
using ::acosh;
using ::acoshf;
using ::asin;
using ::asinf;
using ::asinh;
using ::asinhf;
using ::atan;
using ::atan2;
using ::atan2f;
using ::atanf;
using ::atanh;
using ::atanhf;
using ::cbrt;
using ::cbrtf;
using ::ceil;
using ::ceilf;
using ::copysign;
using ::copysignf;
using ::cos;
using ::cosf;
using ::cosh;
using ::coshf;
using ::erf;
using ::erfc;
using ::erfcf;
using ::erff;
using ::exp;
using ::exp2;
using ::exp2f;
using ::expf;
using ::expm1;
using ::expm1f;
using ::fabs;
using ::fabsf;
using ::fdim;
using ::fdimf;
using ::floor;
using ::floorf;
using ::fma;
using ::fmaf;
using ::fmax;
using ::fmaxf;
using ::fmin;
using ::fminf;
using ::fmod;
using ::fmodf;
using ::frexp;
using ::frexpf;
using ::hypot;
using ::hypotf;
using ::ilogb;
using ::ilogbf;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::ldexp;
using ::ldexpf;
using ::lgamma;
using ::lgammaf;
using ::llrint;
using ::llrintf;
using ::llround;
using ::llroundf;
using ::log;
using ::log10;
using ::log10f;
using ::log1p;
using ::log1pf;
using ::log2;
using ::log2f;
using ::logb;
using ::logbf;
using ::logf;
using ::lrint;
using ::lrintf;
using ::lround;
using ::lroundf;
using ::modf;
using ::modff;
using ::nan;
using ::nanf;
using ::nearbyint;
using ::nearbyintf;
using ::nextafter;
using ::nextafterf;
using ::pow;
using ::powf;
using ::remainder;
using ::remainderf;
using ::remquo;
using ::remquof;
using ::rint;
using ::rintf;
using ::round;
using ::roundf;
using ::scalbln;
using ::scalblnf;
using ::scalbn;
using ::scalbnf;
using ::signbit;
using ::sin;
using ::sinf;
using ::sinh;
using ::sinhf;
using ::sqrt;
using ::sqrtf;
using ::tan;
using ::tanf;
using ::tanh;
using ::tanhf;
using ::tgamma;
using ::tgammaf;
using ::trunc;
using ::truncf;

// The standard converts integer arguments to double; with NVRTC's overloads they are ambiguous.
template <class T>
struct __lode_integer_as_double {};
template <>
struct __lode_integer_as_double<int> {
    typedef double type;
};
template <>
struct __lode_integer_as_double<unsigned> {
    typedef double type;
};
template <>
struct __lode_integer_as_double<long> {
    typedef double type;
};
template <>
struct __lode_integer_as_double<unsigned long> {
    typedef double type;
};
template <>
struct __lode_integer_as_double<long long> {
    typedef double type;
};
template <>
struct __lode_integer_as_double<unsigned long long> {
    typedef double type;
};
#define __LODE_INTEGER_OVERLOAD(function)                                                  \
    template <class T>                                                                     \
    __device__ inline typename __lode_integer_as_double<T>::type function(T x) {           \
        return ::function(static_cast<double>(x));                                         \
    }
__LODE_INTEGER_OVERLOAD(acos)
__LODE_INTEGER_OVERLOAD(asin)
__LODE_INTEGER_OVERLOAD(atan)
__LODE_INTEGER_OVERLOAD(cbrt)
__LODE_INTEGER_OVERLOAD(ceil)
__LODE_INTEGER_OVERLOAD(cos)
__LODE_INTEGER_OVERLOAD(cosh)
__LODE_INTEGER_OVERLOAD(exp)
__LODE_INTEGER_OVERLOAD(exp2)
__LODE_INTEGER_OVERLOAD(fabs)
__LODE_INTEGER_OVERLOAD(floor)
__LODE_INTEGER_OVERLOAD(log)
__LODE_INTEGER_OVERLOAD(log10)
__LODE_INTEGER_OVERLOAD(log2)
__LODE_INTEGER_OVERLOAD(sin)
__LODE_INTEGER_OVERLOAD(sinh)
__LODE_INTEGER_OVERLOAD(sqrt)
__LODE_INTEGER_OVERLOAD(tan)
__LODE_INTEGER_OVERLOAD(tanh)
#undef __LODE_INTEGER_OVERLOAD
}  // namespace std
