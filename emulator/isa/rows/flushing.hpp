// Rows for floating-point operations that may flush denormals: one for the plain form, which a
// LODE_AS before them is about, and one for the flushing form.
#pragma once

#define LODE_FLOAT1(keys, ftz_keys, expression)          \
    LODE_ROW1(keys, f32, f32, canonical(expression))     \
    LODE_OP(ftz_keys, "ww", &map1<f32, f32, [](f32 a_) { \
                const f32 a = flushed(a_);               \
                return flushed(canonical(expression));   \
            }>)
#define LODE_FLOAT2(keys, ftz_keys, expression)                        \
    LODE_ROW2(keys, f32, f32, f32, canonical(expression))              \
    LODE_OP(ftz_keys, "www", &map2<f32, f32, f32, [](f32 a_, f32 b_) { \
                const f32 a = flushed(a_);                             \
                const f32 b = flushed(b_);                             \
                return flushed(canonical(expression));                 \
            }>)
#define LODE_FLOAT3(keys, ftz_keys, expression)                                      \
    LODE_ROW3(keys, f32, f32, f32, f32, canonical(expression))                       \
    LODE_OP(ftz_keys, "wwww", &map3<f32, f32, f32, f32, [](f32 a_, f32 b_, f32 e_) { \
                const f32 a = flushed(a_);                                           \
                const f32 b = flushed(b_);                                           \
                const f32 e = flushed(e_);                                           \
                return flushed(canonical(expression));                               \
            }>)
