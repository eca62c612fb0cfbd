#include "jit/diagnostics.hpp"

#include "jit/text.hpp"

#include <optional>
#include <string>
#include <utility>

namespace LODE_NAMESPACE {
namespace {

using Severity = Diagnostic::Severity;

constexpr std::string_view caret_indent = "  ";

struct SeverityWord {
    std::string_view word;
    Severity severity;
};

/// In the spellings of the front end, the driver and ptxas.
constexpr SeverityWord severity_words[] = {
    {"catastrophic error", Severity::error},
    {"internal error", Severity::error},
    {"fatal error", Severity::error},
    {"error", Severity::error},
    {"Error", Severity::error},
    {"fatal", Severity::error},
    {"warning", Severity::warning},
    {"Warning", Severity::warning},
    {"remark", Severity::remark},
    {"note", Severity::remark},
    {"info", Severity::remark},
};

/// Moves "error: ", "warning #177-D: " or "error   : " from `text` into `diagnostic`.
bool take_severity(std::string_view& text, Diagnostic& diagnostic) {
    for (const auto& [word, severity] : severity_words) {
        auto rest = text;
        if (!take_prefix(rest, word)) continue;
        std::string_view code;
        if (take_prefix(rest, " #")) {
            code = rest.substr(0, rest.find(':'));
            rest.remove_prefix(code.size());
        }
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        if (!take_prefix(rest, ":")) continue;
        diagnostic.severity = severity;
        diagnostic.code = code;
        text = trimmed(rest);
        return true;
    }
    return false;
}

/// "saxpy.cu(3): error: text"; the file name may contain parentheses.
std::optional<Diagnostic> read_front_end(std::string_view line) {
    constexpr std::string_view after_number = "): ";
    for (auto close = line.find(after_number); close != std::string_view::npos;
         close = line.find(after_number, close + 1)) {
        const auto open = line.rfind('(', close);
        if (open == std::string_view::npos) continue;
        auto number = line.substr(open + 1, close - open - 1);
        const auto line_number = take_number<int>(number);
        if (!line_number || !number.empty()) continue;
        auto rest = line.substr(close + after_number.size());
        Diagnostic diagnostic;
        if (!take_severity(rest, diagnostic)) continue;
        diagnostic.file = line.substr(0, open);
        diagnostic.line = *line_number;
        diagnostic.text = rest;
        return diagnostic;
    }
    return std::nullopt;
}

/// "ptxas application ptx input, line 21; error   : text" and "ptxas fatal   : text".
std::optional<Diagnostic> read_assembler(std::string_view line) {
    if (!take_prefix(line, "ptxas ")) return std::nullopt;
    Diagnostic diagnostic;
    constexpr std::string_view before_number = ", line ";
    if (const auto at = line.find(before_number); at != std::string_view::npos) {
        auto rest = line.substr(at + before_number.size());
        const auto number = take_number<int>(rest);
        if (number && take_prefix(rest, "; ")) {
            diagnostic.file = line.substr(0, at);
            diagnostic.line = *number;
            line = rest;
        }
    }
    if (!take_severity(line, diagnostic)) return std::nullopt;
    diagnostic.text = line;
    return diagnostic;
}

/// "nvrtc: error: text", "Command-line error: text" and "error: text": messages without a location.
std::optional<Diagnostic> read_placeless(std::string_view line) {
    if (!take_prefix(line, "nvrtc: ")) take_prefix(line, "Command-line ");
    Diagnostic diagnostic;
    if (!take_severity(line, diagnostic)) return std::nullopt;
    diagnostic.text = line;
    return diagnostic;
}

std::optional<Diagnostic> read_first_line(std::string_view line) {
    if (line.empty() || line[0] == ' ') return std::nullopt;
    if (auto found = read_front_end(line)) return found;
    if (auto found = read_assembler(line)) return found;
    return read_placeless(line);
}

/// Whether it is ptxas's last line, which only summarises the errors above.
bool is_assembler_summary(const Diagnostic& diagnostic) {
    return diagnostic.text == "Ptx assembly aborted due to errors";
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view log) {
    std::vector<Diagnostic> diagnostics;
    bool inside = false;  // Whether indented lines belong to the last diagnostic.
    bool in_context = false;
    while (!log.empty()) {
        const auto line = take_line(log);
        if (auto found = read_first_line(line)) {
            in_context = false;
            inside = !is_assembler_summary(*found) || diagnostics.empty();
            if (inside) diagnostics.push_back(*std::move(found));
            continue;
        }
        const auto content = trimmed(line);
        if (content.empty() || !line.starts_with(caret_indent)) inside = false;
        if (!inside) continue;
        Diagnostic& last = diagnostics.back();
        if (content == "^" && last.column == 0) {
            last.column = static_cast<int>(line.find('^') - caret_indent.size()) + 1;
        } else if (in_context || content.starts_with("detected during")) {
            last.text += !in_context ? " (" : last.text.ends_with(':') ? " " : ", ";
            last.text += content;
            in_context = true;
        }
        // The closing parenthesis of the context is added when its last line is known.
        const bool more = log.starts_with("   ");
        if (in_context && !more) {
            last.text += ')';
            in_context = false;
        }
    }
    return diagnostics;
}

}  // namespace LODE_NAMESPACE
