// The runtime API's errors, as cudart and the device runtime spell them.
#pragma once

#include <algorithm>
#include <iterator>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace lode::emulator {

struct RuntimeError {
    cudaError_t error;
    const char* name;
    const char* meaning;  ///< Empty where the driver has the error.
};
inline constexpr RuntimeError runtime_errors[] = {
#define LODE_ERROR(name, meaning) {name, #name, meaning},
#include "emulator/driver/runtime_errors.def"
#undef LODE_ERROR
};

/// cudaGetErrorName and, without `is_name`, cudaGetErrorString.
inline const char* runtime_error_text(cudaError_t error, bool is_name) noexcept {
    constexpr const char* unknown = "unrecognized error code";
    const auto* const row = std::ranges::find(runtime_errors, error, &RuntimeError::error);
    if (row == std::end(runtime_errors)) return unknown;
    if (is_name) return row->name;
    if (*row->meaning != '\0') return row->meaning;
    const char* text = nullptr;
    return cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS ? text : unknown;
}

}  // namespace lode::emulator
