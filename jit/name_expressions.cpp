#include "jit/name_expressions.hpp"

#include "jit/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <numeric>

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode {
namespace {

/// The file that NVRTC pretends to read name expressions from.
constexpr std::string_view name_map = "__nv_name_map";

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string without_blanks(std::string_view text) {
    std::string result;
    std::ranges::copy_if(text, std::back_inserter(result),
                         [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
    return result;
}

/// The expression that a diagnostic quotes, in NVRTC's spacing; empty when it quotes none.
std::string_view quoted_expression(const Diagnostic& diagnostic) {
    constexpr std::string_view marker = "Input name expression was: \"";
    const std::string_view text = diagnostic.text;
    const auto at = text.find(marker);
    if (at == std::string_view::npos) return {};
    const auto expression = text.substr(at + marker.size());
    return expression.substr(0, expression.rfind('"'));
}

/// The name that C++ gives a symbol, without its parameter list: "ns::scale".
std::string readable(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || text == nullptr) return symbol;
    std::string_view name = text.get();
    int depth = 0;  // Inside template brackets, "(" belongs to an argument.
    std::size_t end = 0;
    while (end < name.size() && (name[end] != '(' || depth > 0)) {
        depth += name[end] == '<' ? 1 : name[end] == '>' ? -1 : 0;
        ++end;
    }
    name = name.substr(0, end);
    // A template's symbol carries the return type: "void scale<float>".
    take_prefix(name, "void ");
    return std::string(name);
}

/// The name declared behind "__global__" at the start of `text`: the last word before the
/// parameter list. Attributes with arguments, such as __launch_bounds__(256), are stepped over.
std::string_view declared_name(std::string_view text) {
    std::string_view name;
    while (!text.empty()) {
        if (is_word(text[0])) {
            const auto end = std::ranges::find_if_not(text, is_word) - text.begin();
            name = text.substr(0, static_cast<std::size_t>(end));
            text.remove_prefix(name.size());
        } else if (text[0] == '(') {
            const bool attribute = name.starts_with("__") && name.ends_with("__");
            if (!attribute) return name;
            int depth = 0;
            std::size_t end = 0;
            do {
                depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
                ++end;
            } while (end < text.size() && depth > 0);
            text.remove_prefix(end);
        } else if (text[0] == ';' || text[0] == '{' || text[0] == '}') {
            return {};
        } else {
            text.remove_prefix(1);
        }
    }
    return {};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

/// The part of a name that people mistype: no "&", no template arguments, no scopes.
std::string_view plain_name(std::string_view name) {
    name = trimmed(name);
    take_prefix(name, "&");
    name = name.substr(0, name.find('<'));
    const auto scope = name.rfind("::");
    return trimmed(scope == std::string_view::npos ? name : name.substr(scope + 2));
}

}  // namespace

std::vector<std::string> wrong_names(std::span<const std::string> expressions,
                                     std::span<const Diagnostic> diagnostics) {
    std::vector<std::string> quoted;
    for (const auto& diagnostic : diagnostics) {
        if (diagnostic.severity != Diagnostic::Severity::error) continue;
        if (diagnostic.file != name_map) return {};
        quoted.push_back(without_blanks(quoted_expression(diagnostic)));
    }
    std::vector<std::string> wrong;
    for (const auto& expression : expressions) {
        const auto plain = without_blanks(expression);
        if (std::ranges::find(quoted, plain) != quoted.end()) wrong.push_back(expression);
    }
    return wrong;
}

std::vector<std::string> kernel_names(std::string_view code, std::string_view ptx) {
    std::vector<std::string> names;
    for (const auto& kernel : kernels_of_ptx(ptx))
        names.push_back(readable(kernel.kernel));

    constexpr std::string_view marker = "__global__";
    for (auto at = code.find(marker); at != std::string_view::npos; at = code.find(marker, at)) {
        at += marker.size();
        const std::string name(declared_name(code.substr(at)));
        const bool listed = std::ranges::any_of(
            names, [&](const std::string& known) { return plain_name(known) == name; });
        if (!name.empty() && !listed) names.push_back(name);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::optional<std::string> near_match(std::string_view wanted, std::span<const std::string> names) {
    constexpr std::size_t letters_per_slip = 3;
    const auto plain = plain_name(wanted);
    std::size_t best = plain.size() / letters_per_slip + 1;
    std::optional<std::string> match;
    for (const auto& name : names) {
        const auto distance = edit_distance(plain, plain_name(name));
        if (distance > best || (match && distance == best)) continue;
        best = distance;
        match = name;
    }
    return match;
}

tl::unexpected<Error> fail_for_names(std::span<const std::string> wrong,
                                     std::span<const std::string> kernels,
                                     std::span<const Diagnostic> diagnostics,
                                     std::string_view source_name, std::string log) {
    std::string message;
    for (const auto& name : wrong) {
        message += fmt::format("{}'{}' names no kernel or variable of '{}'",
                               message.empty() ? "" : " ", name, source_name);
        if (const auto match = near_match(name, kernels)) {
            message += fmt::format("; '{}' is close", *match);
        }
        message += '.';
    }
    const auto reason = std::ranges::find(diagnostics, name_map, &Diagnostic::file);
    if (reason != diagnostics.end()) {
        message += fmt::format(" The compiler's reason: {}.", reason->text);
    }
    message += kernels.empty() ? std::string(" It has no kernels.")
                               : fmt::format(" Its kernels: {}.", fmt::join(kernels, ", "));
    return fail(Errc::not_found, std::move(message), {}, std::move(log));
}

}  // namespace lode
