// For samples that are CUDA applications themselves: checked calls, and the state of the CUDA
// runtime that a guest such as lode must leave unchanged.
#pragma once

#include <lode/runtime/native.hpp>

#include <stdexcept>
#include <string>

#include <cublas_v2.h>
#include <cuda_runtime.h>

inline void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}
inline void check(cudaError_t status) {
    check(status == cudaSuccess, cudaGetErrorString(status));
}
inline void check(cublasStatus_t status) {
    check(status == CUBLAS_STATUS_SUCCESS, cublasGetStatusString(status));
}

/// The calling thread's current device and context, and its last error (reading doesn't clear it).
struct HostState {
    int device = -1;
    lode::NativeContext context = nullptr;
    cudaError_t last_error = cudaSuccess;

    static HostState now() {
        using GetCurrent = int (*)(lode::NativeContext*);
        constexpr unsigned since = 4000;  // cuCtxGetCurrent exists since CUDA 4.0.
        HostState state;
        state.last_error = cudaPeekAtLastError();
        check(cudaGetDevice(&state.device));
        void* entry = nullptr;
        cudaDriverEntryPointQueryResult found{};
        check(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &entry, since, cudaEnableDefault,
                                               &found));
        check(found == cudaDriverEntryPointSuccess, "the driver has cuCtxGetCurrent");
        check(reinterpret_cast<GetCurrent>(entry)(&state.context) == 0, "cuCtxGetCurrent works");
        return state;
    }
    friend bool operator==(const HostState&, const HostState&) = default;
};
