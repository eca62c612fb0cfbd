// Vectors for rows of eight columns. GCC and Clang compile them for any processor. Private to
// emulator/exec/ops/matrix.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

using Reals = f32 __attribute__((vector_size(32)));
using Ints = i32 __attribute__((vector_size(32)));
using HalfInts = i32 __attribute__((vector_size(16)));
using HalfReals = f32 __attribute__((vector_size(16)));
using Wides = f64 __attribute__((vector_size(32)));
using Longs = i64 __attribute__((vector_size(32)));

template <class V, class T>
[[gnu::always_inline]] inline V row_of(const T* from) noexcept {
    V row;
    __builtin_memcpy(&row, from, sizeof row);
    return row;
}

// Element by element: GCC 12 makes one instruction of it, but more of __builtin_convertvector.
[[gnu::always_inline]] inline Wides low_doubles(Ints a) noexcept {
    return Wides{f64(a[0]), f64(a[1]), f64(a[2]), f64(a[3])};
}
[[gnu::always_inline]] inline Wides high_doubles(Ints a) noexcept {
    return Wides{f64(a[4]), f64(a[5]), f64(a[6]), f64(a[7])};
}
[[gnu::always_inline]] inline Reals floats(Wides low, Wides high) noexcept {
    return Reals{f32(low[0]),  f32(low[1]),  f32(low[2]),  f32(low[3]),
                 f32(high[0]), f32(high[1]), f32(high[2]), f32(high[3])};
}

}  // namespace lode::emulator::exec
