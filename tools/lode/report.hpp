// A command's outcome as text and as JSON. docs/command.md documents the JSON.
#pragma once

#include "tools/lode/color.hpp"
#include "tools/lode/element_type.hpp"
#include "tools/lode/layout.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/cache.hpp>
#include <lode/runtime/device.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lode::tool {

/// Keys stay in insertion order.
using Json = nlohmann::ordered_json;

/// The version of the JSON format; a change that breaks readers raises it.
inline constexpr int json_shape = 1;

enum ExitCode : int { exit_fine = 0, exit_failed = 1, exit_bad_usage = 2 };

/// The outcome of a command that has something to show.
struct Answer {
    std::string text;              ///< For stdout, without --json.
    std::string notes = {};        ///< For stderr: the compiler's warnings; often empty.
    Json fields = Json::object();  ///< For stdout with --json, within the envelope.
    /// What the command found wrong: the exit code is 1, and the rest is shown all the same.
    std::optional<Error> failure = {};
    /// The exit code, where it isn't 0 or, with a failure, 1.
    std::optional<int> exit_code = {};
};

/// A command's work, ready to run.
using Work = std::function<Result<Answer>()>;

/// The envelope with an answer's fields: {"lode": 1, "command": …, "ok": true, "warnings": […], …};
/// with the error of a failure.
Json answer_json(std::string_view command, const Answer& answer,
                 std::span<const std::string> warnings);

/// The envelope with an error. `code` is Errc's spelling, or "bad_usage".
Json failure_json(std::string_view command, std::string_view code, const Error& error,
                  std::span<const std::string> warnings);

/// {"code", "message", "native"?, "log"?}
Json to_json(const Error& error);
Json to_json(const Dim3& extents);   ///< [x, y, z]
Json to_json(const Number& number);  ///< A number; "nan", "inf" or "-inf" as a string.
Json to_json(const Diagnostic& diagnostic);
/// {"from", "key", "taken_ms", "saved_ms", "reason", "not_kept"}; absent values are null.
Json to_json(const CompileReport& report);

/// Every kernel of an image with its parameters and, if there is a cubin, its resources.
Json kernels_json(const Image& image);

/// Every kernel as a table: one line per kernel, with its parameters on the line below.
std::string kernels_text(const Image& image);

/// The object as indented text; invalid UTF-8 is replaced.
std::string dump(const Json& json);

/// How much of a compiler's log to print if a source doesn't compile.
enum class CompilerLog : std::uint8_t { first_errors, whole };

/// A message for stderr, such as "lode: …", in lines of at most `width` columns.
std::string message_text(std::string_view message, std::size_t width);

/// "lode: …", followed by the native code and the log if there are any. The log keeps its lines.
std::string error_text(const Error& error, CompilerLog log = CompilerLog::whole,
                       const Colors& colors = {}, std::size_t width = any_width);

}  // namespace lode::tool
