// The toolkit's headers that NVRTC 13.3 and newer carry, installed where no toolkit is.
#pragma once

#include <lode/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// NVRTC's functions for its headers, by the names of nvrtc.h 13.3; this build's may be older.
struct BundledHeaders {
    struct Info {
        int available;
        std::size_t compressed_size;
        std::size_t uncompressed_size;
        int version_major;
        int version_minor;
        unsigned files;
    };
    using Install = int(const char* folder, unsigned flags, const char** problem);
    using GetInfo = int(Info* info, const char** problem);

    Install* install = nullptr;
    GetInfo* get_info = nullptr;
};

/// The include folders of the headers that were installed for a library; empty if there are none.
/// They are in nvrtc-headers in the cache's default folder, in a folder for each build of the
/// library and its companion, which must belong to this user.
[[nodiscard]] std::vector<std::filesystem::path> installed_headers(
    const std::filesystem::path& library);

/// Installs the headers of a library, once for all processes: into a folder of another name, which
/// is counted and renamed. Does nothing if they are installed. Errors: not_found if the library has
/// none, or if there is no folder to write to (LODE_CACHE is off or read-only); file_failed;
/// compiler_failed, with NVRTC's reason.
[[nodiscard]] Status install_headers(const std::filesystem::path& library,
                                     const BundledHeaders& bundled);

}  // namespace LODE_NAMESPACE
