// Rows of the operation table for floating-point operations that may flush denormals.
#pragma once

#include "emulator/exec/ops/arithmetic/rows.hpp"
#include "emulator/isa/real.hpp"

// One row for the plain form and one for the flushing form.
#define LODE_FLOAT1(keys, ftz_keys, expression)            \
    LODE_ROW1(keys, f32, f32, canonical(expression))       \
    OpRow{ftz_keys,                                        \
          &map1<f32, f32,                                  \
                [](f32 a_) {                               \
                    const f32 a = flushed(a_);             \
                    return flushed(canonical(expression)); \
                }>,                                        \
          "ww"},
#define LODE_FLOAT2(keys, ftz_keys, expression)            \
    LODE_ROW2(keys, f32, f32, f32, canonical(expression))  \
    OpRow{ftz_keys,                                        \
          &map2<f32, f32, f32,                             \
                [](f32 a_, f32 b_) {                       \
                    const f32 a = flushed(a_);             \
                    const f32 b = flushed(b_);             \
                    return flushed(canonical(expression)); \
                }>,                                        \
          "www"},
#define LODE_FLOAT3(keys, ftz_keys, expression)                \
    LODE_ROW3(keys, f32, f32, f32, f32, canonical(expression)) \
    OpRow{ftz_keys,                                            \
          &map3<f32, f32, f32, f32,                            \
                [](f32 a_, f32 b_, f32 e_) {                   \
                    const f32 a = flushed(a_);                 \
                    const f32 b = flushed(b_);                 \
                    const f32 e = flushed(e_);                 \
                    return flushed(canonical(expression));     \
                }>,                                            \
          "wwww"},
