// std::vector exists as a type, so that headers that mention it compile; its use is an error.
#pragma once
#include <stddef.h>

namespace std {

template <class Value, class Allocator = void>
class vector {
    static_assert(sizeof(Value) == 0,
                  "std::vector isn't available in kernels, which have no allocator for it. Use "
                  "std::array, or pass a pointer or a std::span to the kernel.");

public:
    template <class... Args>
    __device__ vector(const Args&...) {}
};

}  // namespace std
