// One line of a recording: a request as JSON, for `lode warm`. docs/command.md describes the keys;
// tools/lode/warm_manifest.cpp reads them.
#pragma once

#include <lode/base/error.hpp>
#include <lode/jit/compile_request.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// How every line of a recording begins.
inline constexpr std::string_view recorded_line_start = R"({"manifest":1,)";

/// The line of a request, without the end of the line, the compiler and the time: the same for
/// equal requests. Paths are kept as they are, with the working folder, because the code may
/// contain both. Code in memory that isn't UTF-8, which JSON can't hold, is in base64. Errors:
/// invalid_argument for another text that isn't UTF-8.
[[nodiscard]] Result<std::string> recorded_line(const CompileRequest& request,
                                                const std::filesystem::path& working_folder);

/// Whether a path of the request may begin at the working folder.
[[nodiscard]] bool needs_working_folder(const CompileRequest& request);

/// The line with what the compilation took, and a line end.
[[nodiscard]] std::string with_measurement(std::string line, std::string_view compiler,
                                           double milliseconds);

/// The part of a complete line that recorded_line() gives.
[[nodiscard]] std::string_view without_measurement(std::string_view line) noexcept;

}  // namespace LODE_NAMESPACE::cache
