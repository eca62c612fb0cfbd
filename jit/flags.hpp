// Flags of the compiler, and what they do to it.
#pragma once

#include "jit/nvrtc/library.hpp"

#include <lode/base/arch.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The flags that depend on the machine, not on the user's options: the target, and switches that
/// keep NVRTC from changing the stack limit of the process and from caching by itself.
[[nodiscard]] std::vector<std::string> machine_flags(const NvrtcLibrary& nvrtc, const Arch& arch);

/// Why a compilation that leaves_traces() isn't made in the host's process, as a clause.
inline constexpr std::string_view trace_reason =
    "With these flags NVRTC makes other code of later compilations in the same process";

/// Whether later compilations in the same process may give other code than in a new one. NVRTC's
/// optimiser keeps some settings: after -G or --restrict, kernels compiled without them are other
/// ones. Such a compilation is the last of its process.
[[nodiscard]] bool leaves_traces(const CompileOptions& options);
/// The same of a link: nvJitLink keeps the level of -O0.
[[nodiscard]] bool leaves_traces(const LinkOptions& options);

}  // namespace LODE_NAMESPACE
