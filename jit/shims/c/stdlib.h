// malloc, free and abs are NVRTC's own; this adds the rest that device code supports.
#pragma once
#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

typedef struct {
    int quot;
    int rem;
} div_t;
typedef struct {
    long quot;
    long rem;
} ldiv_t;
typedef struct {
    long long quot;
    long long rem;
} lldiv_t;

__device__ inline div_t div(int a, int b) {
    return div_t{a / b, a % b};
}
__device__ inline ldiv_t ldiv(long a, long b) {
    return ldiv_t{a / b, a % b};
}
__device__ inline lldiv_t lldiv(long long a, long long b) {
    return lldiv_t{a / b, a % b};
}

// Ends the kernel with an error, like a failed assert.
[[noreturn]] __device__ inline void abort() {
    __trap();
    for (;;) {
    }
}
