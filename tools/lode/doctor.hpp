// The checks of `lode doctor`: what would be slow or fail when an application starts, and the cure.
// Each check adds what it finds; a check that finds nothing adds nothing.
#pragma once

#include "tools/lode/warm_tasks.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// What a finding does to an application.
enum class Effect : std::uint8_t {
    fails,     ///< It can't start, or its kernels can't be loaded.
    may_fail,  ///< So do applications that need what is missing.
    slow       ///< It starts or runs more slowly than it could.
};

/// "fails", "may fail" or "slow".
std::string_view to_string(Effect effect) noexcept;

/// One finding.
struct Finding {
    Effect effect = Effect::slow;
    std::string check;    ///< What was examined: "driver", "cache", "LODE_JIT".
    std::string message;  ///< What is wrong, in full sentences.
    std::string cure;     ///< What to do about it, in full sentences.
    Errc code = Errc::not_found;
};
using Findings = std::vector<Finding>;

/// lode's variables: wrong values, misspelt names, and values that cost time.
void check_variables(Findings& findings);

/// A variable's wrong value, unless a finding has the same message.
void add_wrong_value(std::string_view check, const Error& error, Findings& findings);

/// The driver's variables. `uses_ptx` is whether the driver compiles PTX for some device.
void check_driver_variables(bool uses_ptx, Findings& findings);

/// What the kernel says about the file system of a folder.
struct FileSystem {
    std::uint64_t type = 0;  ///< statfs's f_type.
    std::uint64_t free_bytes = 0;
    bool has_files_left = true;
};

/// Judges the file system of the cache's folder, and how full it is.
void check_file_system(const std::filesystem::path& folder, const FileSystem& system,
                       Findings& findings);

/// The folder (missing, not writable, not to be trusted, full), and the packs. Creates nothing.
void check_cache(const CacheOptions& options, Findings& findings);
/// Packs that can't be opened, or not be searched because there is no compiler.
void check_packs(std::span<const std::filesystem::path> packs, Findings& findings);

/// Whether these folders have the toolkit's headers that kernels usually include.
void check_toolkit_headers(std::span<const std::filesystem::path> folders, Findings& findings);

/// Whether lode-worker is there, if the options ask for it.
void check_workers(const CacheOptions& options, Findings& findings);

/// The compiler, its headers, and the driver with its devices. Returns whether the driver compiles
/// PTX for some device.
bool check_machine(Findings& findings);

/// What the manifests list and the cache doesn't have. `application` has its options. If `pack`
/// isn't empty, the packs that `lode warm --pack` names after it take the cache's place.
void check_manifests(std::span<const std::string> files, const std::filesystem::path& pack,
                     const CacheOptions& application, Findings& findings);

}  // namespace lode::tool
