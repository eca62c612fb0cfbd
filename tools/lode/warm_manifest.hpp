// Reads the manifests of `lode warm`: lists of compilations, written by hand, by CMake's lode_warm
// or by LODE_RECORD. docs/command.md describes them. (The cache's own records of header sets are
// called manifests too; these files have nothing to do with them.)
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>
#include <lode/jit/target.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lode::tool {

/// The version of the format, the value of "manifest".
inline constexpr int manifest_version = 1;

/// One item of a manifest: a source or a kernel family.
struct ManifestRequest {
    std::string where;             ///< "app.json: /requests/3", for messages.
    std::optional<Source> source;  ///< Unset for a family.
    std::string family;
    std::vector<std::string> rows;  ///< Rows of the family; empty for all.
    std::filesystem::path folder;   ///< Absolute: where relative paths begin.
    /// nullopt is the target of each device of this machine; never empty.
    std::vector<std::optional<Arch>> archs;
    SuffixPolicy suffix = SuffixPolicy::none;  ///< For the devices of this machine.
    CompileOptions options;
    std::vector<std::string> names;    ///< The name expressions of one compilation.
    std::vector<std::string> kernels;  ///< Loaded by name, as Device::load() does.
    std::string compiler;              ///< The recording's; empty if unknown.
    std::optional<double> compile_ms;  ///< What the compilation took when it was recorded.
};

/// Reads a manifest or a recording. Errors: not_found, file_failed; invalid_argument with the file,
/// the place in it and the value.
[[nodiscard]] Result<std::vector<ManifestRequest>> read_manifest(const std::filesystem::path& file);

/// "sm_90a", "compute_90", or "native" as nullopt. Errors: those of Arch::parse.
[[nodiscard]] Result<std::optional<Arch>> parse_manifest_arch(const std::string& text);

}  // namespace lode::tool
