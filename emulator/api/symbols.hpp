// The exported entry points by name and version, for cuGetProcAddress.
#pragma once

#include "emulator/api/abi.hpp"

#include <string_view>

namespace lode::emulator::symbols {

struct Found {
    void* address = nullptr;
    bool name_known = false;  ///< Some version of it exists.
};

/// The newest entry point of this name that is no newer than `version`.
Found find(std::string_view name, int version, DefaultStream default_stream) noexcept;

/// "cuMemAlloc_v2_ptsz" → "cuMemAlloc".
std::string_view unversioned(std::string_view symbol) noexcept;

}  // namespace lode::emulator::symbols
