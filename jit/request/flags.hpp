// What flags do to the compiler that gets them.
#pragma once

#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>

#include <string_view>

namespace LODE_NAMESPACE {

/// Why a compilation that leaves_traces() isn't made in the host's process, as a clause.
inline constexpr std::string_view trace_reason =
    "With these flags a compiler makes other code of later compilations in the same process";

/// Whether later compilations in the same process may give other code than in a new one. NVRTC's
/// optimiser keeps some settings: after -G or --restrict, kernels compiled without them are other
/// ones. Such a compilation is the last of its process.
[[nodiscard]] bool leaves_traces(const CompileOptions& options);
/// The same of a link: nvJitLink keeps the level of -O0.
[[nodiscard]] bool leaves_traces(const LinkOptions& options);

}  // namespace LODE_NAMESPACE
