// Exported entry points by name and version, for cuGetProcAddress.
#pragma once

#include "emulator/driver/stream/default_stream.hpp"

#include <span>
#include <string_view>

namespace lode::emulator::driver::symbols {

/// One exported entry point.
struct Row {
    std::string_view name;  ///< Without its version, for example "cuMemAlloc".
    int version;            ///< The CUDA version that introduced this form, for example 3020.
    DefaultStream default_stream;
    void* address;
};

/// Entry points that only return CUDA_ERROR_NOT_SUPPORTED.
std::span<const Row> unsupported() noexcept;

struct Found {
    void* address = nullptr;
    bool name_known = false;  ///< Some version of it exists.
};

/// The newest entry point of this name whose version is at most `version`.
Found find(std::string_view name, int version, DefaultStream default_stream) noexcept;

/// For example "cuMemAlloc_v2_ptsz" → "cuMemAlloc".
std::string_view unversioned(std::string_view symbol) noexcept;

}  // namespace lode::emulator::driver::symbols
