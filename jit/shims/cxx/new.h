// operator new is NVRTC's own, also the one that constructs in place; this adds the types.
#pragma once
#include <exception>
#include <stddef.h>

namespace std {

class bad_alloc : public exception {
public:
    __device__ const char* what() const noexcept override { return "std::bad_alloc"; }
};

}  // namespace std
