// The base of the exception classes. Kernels can make such objects but not throw them: `throw` is
// NVRTC's own error.
#pragma once

namespace std {

class exception {
public:
    __device__ exception() noexcept {}
    __device__ virtual ~exception() {}
    __device__ virtual const char* what() const noexcept { return "std::exception"; }
};

/// Ends the kernel with an error, like a failed assert.
[[noreturn]] __device__ inline void terminate() noexcept {
    __trap();
    for (;;) {
    }
}

}  // namespace std
