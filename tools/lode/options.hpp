// Parses the text of command-line options into lode's values. Every error is invalid_argument and
// names the text and the accepted forms; the command reports it as a usage error.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/launch.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// The compile options as given on the command line.
struct CompileFlags {
    std::vector<std::string> definitions;  ///< "NAME" or "NAME=VALUE"
    std::vector<std::string> include_folders;
    std::string standard;  ///< Empty: the library's default.
    std::string math;      ///< Empty: the library's default.
    bool fast_math = false;
    bool line_info = false;
    bool debug = false;
    bool relocatable = false;
    bool lto = false;
    bool optix_ir = false;
    bool llvm_ir = false;  ///< Tells the file's language: language_of().
    int max_registers = 0;
    std::string tile;  ///< Empty: the library's default.
    std::vector<std::string> extra_flags;
};

[[nodiscard]] Result<CompileOptions> to_compile_options(const CompileFlags& flags);

/// "17" or "c++17", 11 to 20.
[[nodiscard]] Result<Standard> parse_standard(std::string_view text);

/// "ieee", "fast" or "host_comparable".
[[nodiscard]] Result<Math::Preset> parse_math(std::string_view text);

/// "none", "enabled" or "only".
[[nodiscard]] Result<Tile> parse_tile(std::string_view text);

/// "sm_90a" or "compute_80". Errors name `option` and suggest the architecture that may be meant.
[[nodiscard]] Result<Arch> parse_arch(std::string_view option, std::string_view text);

/// The architectures to compile for, without duplicates and in order of appearance.
struct ArchList {
    bool all = false;     ///< All that the compiler reports come first.
    bool native = false;  ///< Those of this machine's devices come next.
    std::vector<Arch> archs;
};

/// The architecture of this machine's device, as --arch has it.
inline constexpr std::string_view native_arch = "native";

/// Each entry is "sm_90a", "compute_80", "native" or "all".
[[nodiscard]] Result<ArchList> parse_arch_list(std::span<const std::string> names);

/// "9.0" or "90".
[[nodiscard]] Result<ComputeCapability> parse_capability(std::string_view text);

/// "12.4" as 12040. Errors name --driver.
[[nodiscard]] Result<int> parse_cuda_version(std::string_view text);

/// "a", "f" or "none".
[[nodiscard]] Result<SuffixPolicy> parse_suffix(std::string_view text);

/// "X", "X,Y" or "X,Y,Z", each at least 1, with a unit of parse_count() or not. Errors name
/// `option`.
[[nodiscard]] Result<Dim3> parse_dim3(std::string_view option, std::string_view text);

}  // namespace lode::tool
