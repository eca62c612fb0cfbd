#include "tools/lode/color.hpp"

#include "base/foreign_environment.hpp"
#include "base/message_text.hpp"
#include "jit/diagnostics.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace lode::tool {
namespace {

// ECMA-48, "Select Graphic Rendition".
constexpr std::string_view bold = "1";
constexpr std::string_view bold_red = "1;31";
constexpr std::string_view bold_green = "1;32";
constexpr std::string_view bold_magenta = "1;35";
constexpr std::string_view bold_cyan = "1;36";

ColorMode color_mode = ColorMode::automatic;

std::string painted(std::string_view style, std::string_view text) {
    return text.empty() ? std::string() : fmt::format("\033[{}m{}\033[0m", style, text);
}

bool decide(ColorMode mode, const Colors::Surroundings& around) {
    if (mode != ColorMode::automatic) return mode == ColorMode::always;
    if (around.no_color && !around.no_color->empty()) return false;
    if (around.clicolor_force && !around.clicolor_force->empty() && *around.clicolor_force != "0")
        return true;
    return around.is_terminal && around.term.value_or("dumb") != "dumb";
}

bool is_caret(std::string_view line) {
    return line.find('^') != std::string_view::npos &&
           line.find_first_not_of(" \t^~") == std::string_view::npos;
}

/// A line that begins a message: everything before the severity is its location.
std::string painted_message(std::string_view line, Diagnostic::Severity severity) {
    std::string_view word = "error";
    std::string_view style = bold_red;
    if (severity == Diagnostic::Severity::warning) {
        word = "warning";
        style = bold_magenta;
    } else if (severity == Diagnostic::Severity::remark) {
        word = "remark";
        style = bold_cyan;
    }
    auto at = line.find(fmt::format(": {}", word));
    at = at == std::string_view::npos ? line.find(word) : at + 2;
    if (at == std::string_view::npos) return std::string(line);
    return painted(bold, line.substr(0, at)) + painted(style, word) +
           std::string(line.substr(at + word.size()));
}

}  // namespace

Result<ColorMode> parse_color_mode(std::string_view text) {
    if (text == "auto") return ColorMode::automatic;
    if (text == "always") return ColorMode::always;
    if (text == "never") return ColorMode::never;
    const std::string words[] = {"auto", "always", "never"};
    return fail(Errc::invalid_argument,
                fmt::format("--color is '{}' but must be one of auto, always, never.{}", text,
                            did_you_mean(closest(text, words))));
}

Colors::Colors(ColorMode mode, const Surroundings& surroundings)
    : are_on_(decide(mode, surroundings)) {}

std::string Colors::error(std::string_view text) const {
    return are_on_ ? painted(bold_red, text) : std::string(text);
}

std::string Colors::warning(std::string_view text) const {
    return are_on_ ? painted(bold_magenta, text) : std::string(text);
}

std::string Colors::remark(std::string_view text) const {
    return are_on_ ? painted(bold_cyan, text) : std::string(text);
}

std::string Colors::success(std::string_view text) const {
    return are_on_ ? painted(bold_green, text) : std::string(text);
}

std::string Colors::log(std::string_view text) const {
    if (!are_on_) return std::string(text);
    std::string all;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        const auto begun = parse_diagnostics(line);
        if (!begun.empty()) {
            all += painted_message(line, begun.front().severity);
        } else {
            all += is_caret(line) ? painted(bold_green, line) : std::string(line);
        }
        if (end == std::string_view::npos) break;
        all += '\n';
        text.remove_prefix(end + 1);
    }
    return all;
}

void set_color_mode(ColorMode mode) noexcept {
    color_mode = mode;
}

Colors colors_of(int file) {
    return {color_mode,
            {.is_terminal = ::isatty(file) == 1,
             .term = foreign_environment("TERM"),
             .no_color = foreign_environment("NO_COLOR"),
             .clicolor_force = foreign_environment("CLICOLOR_FORCE")}};
}

}  // namespace lode::tool
