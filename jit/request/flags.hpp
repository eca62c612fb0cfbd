// What flags do to the compiler that gets them.
#pragma once

#include <lode/jit/compile_request.hpp>
#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>

#include <string_view>

namespace LODE_NAMESPACE {

/// Why a compilation that leaves_traces() isn't made in the host's process, as a clause.
inline constexpr std::string_view trace_reason =
    "With these flags a compiler makes other code of later compilations in the same process";

/// Why LLVM never runs in the host's process.
inline constexpr std::string_view llvm_reason = "LLVM may end its process";

/// Whether a language's compiler never runs in the host's process.
[[nodiscard]] constexpr bool needs_worker(Source::Language language) noexcept {
    return language == Source::Language::llvm_ir;
}

/// Whether later compilations in the same process may give other code than in a new one. NVRTC's
/// optimiser keeps some settings: after -G or --restrict, kernels compiled without them are other
/// ones. Such a compilation is the last of its process.
[[nodiscard]] bool leaves_traces(const CompileOptions& options);
/// The same of a request: LLVM's options for mathematics stay in force.
[[nodiscard]] bool leaves_traces(const CompileRequest& request);
/// The same of a link: nvJitLink keeps the level of -O0.
[[nodiscard]] bool leaves_traces(const LinkOptions& options);

/// Why a request isn't compiled in the host's process, as a clause; empty if it may be.
[[nodiscard]] std::string_view worker_reason(const CompileRequest& request);

}  // namespace LODE_NAMESPACE
