// Where precompiled headers are kept, as a request tells a worker.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>
#include <filesystem>

namespace LODE_NAMESPACE::pch {

struct Settings {
    std::filesystem::path folder;  ///< The cache folder; empty switches precompiled headers off.
    bool is_writable = false;
    std::uint64_t max_bytes = 0;
    std::uint64_t least_header_bytes = 0;
    /// The compiler crashed with a precompiled header: this one is removed, and not used.
    bool is_suspect = false;

    friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace LODE_NAMESPACE::pch
