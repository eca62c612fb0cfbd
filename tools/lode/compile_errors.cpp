#include "tools/lode/compile_errors.hpp"

#include "base/message_text.hpp"
#include "jit/diagnostics.hpp"
#include "tools/lode/layout.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace lode::tool {
namespace {

constexpr std::size_t most_errors = 3;
constexpr std::size_t most_lines = 8;
constexpr std::size_t most_in_line = 400;

/// One message and the lines that belong to it.
struct Message {
    Diagnostic::Severity severity;
    bool is_in_header;  ///< In a header of the toolkit, or one that the user didn't name by a
                        ///< relative path.
    std::vector<std::string_view> lines;
};

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

/// The messages of a log, in its order. Lines that begin none and follow a blank line belong to
/// none: counts and hints.
std::vector<Message> messages_of(std::string_view log) {
    std::vector<Message> messages;
    bool is_inside = false;
    for (const auto line : lines_of(log)) {
        const auto begun = parse_diagnostics(line);
        if (!begun.empty()) {
            messages.push_back(
                {begun.front().severity, begun.front().file.starts_with('/'), {line}});
            is_inside = true;
        } else if (line.empty()) {
            is_inside = false;
        } else if (is_inside) {
            messages.back().lines.push_back(line);
        }
    }
    return messages;
}

}  // namespace

std::string first_errors(std::string_view log) {
    const auto messages = messages_of(log);
    std::vector<const Message*> errors;
    for (const bool is_in_header : {false, true}) {
        for (const auto& message : messages) {
            if (message.severity == Diagnostic::Severity::error &&
                message.is_in_header == is_in_header)
                errors.push_back(&message);
        }
    }
    const auto is_long = [](std::string_view line) { return line.size() > most_in_line; };
    const bool is_cut = std::ranges::any_of(errors, [&](const Message* error) {
        return error->lines.size() > most_lines || std::ranges::any_of(error->lines, is_long);
    });
    if (errors.empty() || (errors.size() <= most_errors && !is_cut)) return std::string(log);

    const std::size_t shown = std::min(errors.size(), most_errors);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        const auto& lines = errors[i]->lines;
        for (std::size_t k = 0; k < std::min(lines.size(), most_lines); ++k)
            text += fmt::format("{}\n", is_long(lines[k]) ? shortened(lines[k], most_in_line)
                                                          : std::string(lines[k]));
        if (lines.size() > most_lines)
            text += fmt::format("    … and {}\n", counted(lines.size() - most_lines, "more line"));
        text += '\n';
    }
    const std::size_t others = messages.size() - errors.size();
    text += shown < errors.size() ? fmt::format("{} of {} errors are shown", shown, errors.size())
                                  : fmt::format("{} {} shortened", counted(shown, "error"),
                                                shown == 1 ? "is" : "are");
    if (others > 0) text += fmt::format(", and {} left out", counted(others, "warning or remark"));
    return text + "; --log prints the whole log.\n";
}

}  // namespace lode::tool
