// The exported entry points by name and version, for cuGetProcAddress.
#pragma once

#include "emulator/driver/default_stream.hpp"

#include <span>
#include <string_view>

namespace lode::emulator::driver::symbols {

/// One exported entry point.
struct Row {
    std::string_view name;  ///< Without its version: "cuMemAlloc".
    int version;            ///< The CUDA version that brought this form: 3020.
    DefaultStream default_stream;
    void* address;
};

/// Those that only answer CUDA_ERROR_NOT_SUPPORTED.
std::span<const Row> unsupported() noexcept;

struct Found {
    void* address = nullptr;
    bool name_known = false;  ///< Some version of it exists.
};

/// The newest entry point of this name that is no newer than `version`.
Found find(std::string_view name, int version, DefaultStream default_stream) noexcept;

/// "cuMemAlloc_v2_ptsz" → "cuMemAlloc".
std::string_view unversioned(std::string_view symbol) noexcept;

}  // namespace lode::emulator::driver::symbols
