#include "jit/nvvm_log.hpp"

#include "jit/text.hpp"

#include <optional>

namespace LODE_NAMESPACE::nvvm {
namespace {

/// "a.ll (3, 19): parse expected type"; the file's name may contain parentheses.
std::optional<Diagnostic> read_parser(std::string_view line) {
    constexpr std::string_view after_numbers = "): parse ";
    const auto close = line.find(after_numbers);
    if (close == std::string_view::npos) return std::nullopt;
    const auto open = line.rfind(" (", close);
    if (open == std::string_view::npos) return std::nullopt;
    auto numbers = line.substr(open + 2, close - open - 2);
    const auto number = take_number<int>(numbers);
    if (!number || !take_prefix(numbers, ", ")) return std::nullopt;
    const auto column = take_number<int>(numbers);
    if (!column || !numbers.empty()) return std::nullopt;
    Diagnostic diagnostic;
    diagnostic.file = line.substr(0, open);
    diagnostic.line = *number;
    diagnostic.column = *column + 1;
    diagnostic.text = trimmed(line.substr(close + after_numbers.size()));
    return diagnostic;
}

/// "a.ll:3:19" of LLVM, or "a.ll".
void place(std::string_view text, Diagnostic& diagnostic) {
    diagnostic.file = text;
    const auto second = text.rfind(':');
    if (second == std::string_view::npos || second == 0) return;
    const auto first = text.rfind(':', second - 1);
    if (first == std::string_view::npos) return;
    auto lines = text.substr(first + 1, second - first - 1);
    auto columns = text.substr(second + 1);
    const auto line = take_number<int>(lines);
    const auto column = take_number<int>(columns);
    if (!line || !column || !lines.empty() || !columns.empty()) return;
    diagnostic.file = text.substr(0, first);
    diagnostic.line = *line;
    diagnostic.column = *column;
}

/// "a.ll:3:19: error: text", "a.ll: error: text", "libnvvm : error: text" and "error: text".
std::optional<Diagnostic> read_other(std::string_view line) {
    struct Word {
        std::string_view text;
        Diagnostic::Severity severity;
    };
    constexpr Word words[] = {{"error: ", Diagnostic::Severity::error},
                              {"warning: ", Diagnostic::Severity::warning}};
    for (const auto& [word, severity] : words) {
        const auto at = line.find(word);
        if (at == std::string_view::npos) continue;
        auto before = line.substr(0, at);
        if (!before.empty() && !before.ends_with(": ")) continue;
        before = trimmed(before.substr(0, before.rfind(':')));
        Diagnostic diagnostic;
        diagnostic.severity = severity;
        if (before != "libnvvm") place(before, diagnostic);
        diagnostic.text = trimmed(line.substr(at + word.size()));
        return diagnostic;
    }
    return std::nullopt;
}

}  // namespace

std::vector<Diagnostic> parse_log(std::string_view log, bool has_failed) {
    std::vector<Diagnostic> diagnostics;
    const std::string_view whole = trimmed(log);
    while (!log.empty()) {
        const auto line = take_line(log);
        auto found = read_parser(line);
        if (!found) found = read_other(line);
        if (found) diagnostics.push_back(*std::move(found));
    }
    if (has_failed && diagnostics.empty() && !whole.empty()) {
        Diagnostic& only = diagnostics.emplace_back();
        only.text = whole.substr(0, whole.find('\n'));
    }
    return diagnostics;
}

}  // namespace LODE_NAMESPACE::nvvm
