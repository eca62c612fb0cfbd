// Why a compilation failed, for people.
#pragma once

#include "jit/compilation.hpp"

#include <lode/base/error.hpp>

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <nvrtc.h>

namespace LODE_NAMESPACE {

/// The error of a job that ended with `result` and the log. `ptx_alone` compiles the source without
/// name expressions and machine code, and returns an empty text if that fails, too.
[[nodiscard]] tl::unexpected<Error> fail_compile(const Compilation& job, nvrtcResult result,
                                                 std::string log,
                                                 const std::function<std::string()>& ptx_alone);

/// "the first error as file:line:column: text, and how many".
[[nodiscard]] std::string describe_errors(std::span<const Diagnostic> diagnostics);

/// unsupported_arch with what a compiler, "NVRTC 13.0", supports.
[[nodiscard]] Status check_arch(std::string_view compiler,
                                std::span<const ComputeCapability> supported, const Arch& arch);

[[nodiscard]] bool has_lines(const CompileOptions& options) noexcept;

/// The error of a source whose line information would name `path`.
[[nodiscard]] tl::unexpected<Error> fail_for_quoted_path(const Compilation& job,
                                                         std::string_view path);

}  // namespace LODE_NAMESPACE
