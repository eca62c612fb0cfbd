#include "jit/name_expressions.hpp"

#include "base/cxx_names.hpp"
#include "base/identifier.hpp"
#include "base/message_text.hpp"
#include "jit/text.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace {

/// The pseudo file from which NVRTC reads name expressions.
constexpr std::string_view name_map = "__nv_name_map";

std::string without_blanks(std::string_view text) {
    std::string result;
    std::ranges::copy_if(text, std::back_inserter(result),
                         [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
    return result;
}

/// The expression that a diagnostic quotes, in NVRTC's spacing; empty if it quotes none.
std::string_view quoted_expression(const Diagnostic& diagnostic) {
    constexpr std::string_view marker = "Input name expression was: \"";
    const std::string_view text = diagnostic.text;
    const auto at = text.find(marker);
    if (at == std::string_view::npos) return {};
    const auto expression = text.substr(at + marker.size());
    return expression.substr(0, expression.rfind('"'));
}

/// The expressions that the log's errors show in the caller's spelling, without blanks. NVRTC's own
/// spelling, which quoted_expression() gives, has literals in another form.
std::vector<std::string> shown_expressions(std::string_view log) {
    constexpr std::string_view marker = "#pragma nv_mangled_name ";
    std::vector<std::string> shown;
    bool in_error = false;
    while (!log.empty()) {
        const auto line = take_line(log);
        if (line.starts_with(name_map)) in_error = line.find("): error: ") != line.npos;
        const auto at = line.find(marker);
        if (in_error && at != line.npos)
            shown.push_back(without_blanks(line.substr(at + marker.size())));
    }
    return shown;
}

/// The name declared after "__global__" at the start of `text`: the last word before the parameter
/// list. Attributes with arguments, such as __launch_bounds__(256), are skipped.
std::string_view declared_name(std::string_view text) {
    std::string_view name;
    while (!text.empty()) {
        if (is_identifier_character(text[0])) {
            const auto end = std::ranges::find_if_not(text, is_identifier_character) - text.begin();
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

/// The end of a comment, string or character literal that begins at `at`; `at` if none does.
std::size_t skip_opaque(std::string_view code, std::size_t at) {
    const auto rest = code.substr(at);
    const auto end_after = [&](std::size_t found, std::size_t size) {
        return found == std::string_view::npos ? code.size() : at + found + size;
    };
    if (rest.starts_with("//")) return end_after(rest.find('\n'), 1);
    if (rest.starts_with("/*")) return end_after(rest.find("*/", 2), 2);
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return at;
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != rest[0] && rest[end] != '\n')
        end += rest[end] == '\\' ? 2 : 1;
    return std::min(at + end + 1, code.size());
}

/// The template parameter list at the start of `text`, with its brackets; empty if none ends.
/// Comparisons of defaults are in parentheses.
std::string_view parameter_list(std::string_view text) {
    int angles = 0;
    int parentheses = 0;
    const auto start = text.find_first_not_of(" \t\r\n");
    if (start == text.npos || text[start] != '<') return {};
    for (std::size_t at = start; at < text.size(); ++at) {
        const char c = text[at];
        parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (parentheses != 0) continue;
        angles += c == '<' ? 1 : c == '>' ? -1 : 0;
        if (angles == 0) return text.substr(start, at + 1 - start);
    }
    return {};
}

struct DeclaredKernel {
    std::string name;             ///< With its namespaces.
    std::string_view parameters;  ///< Those of its template; empty if it is none.
};

/// The kernels that a text declares. Macros are not expanded.
std::vector<DeclaredKernel> declared_kernels(std::string_view code) {
    constexpr std::string_view marker = "__global__";
    std::vector<DeclaredKernel> kernels;
    std::vector<std::string> scopes;  // One per open brace; empty unless it opens a namespace.
    std::optional<std::string> opening;
    std::string_view parameters;
    std::size_t at = 0;
    while (at < code.size()) {
        if (const auto end = skip_opaque(code, at); end != at) {
            at = end;
        } else if (is_identifier_character(code[at])) {
            const auto word = code.substr(
                at, static_cast<std::size_t>(
                        std::ranges::find_if_not(code.substr(at), is_identifier_character) -
                        (code.begin() + at)));
            at += word.size();
            if (word == "template") parameters = parameter_list(code.substr(at));
            if (word == marker) {
                const auto name = declared_name(code.substr(at));
                if (!name.empty())
                    kernels.push_back(
                        {fmt::format("{}{}", fmt::join(scopes, ""), name), parameters});
            } else if (word == "namespace") {
                opening = "";
            } else if (opening && word != "inline") {
                *opening += fmt::format("{}::", word);
            }
        } else {
            if (code[at] == '{')
                scopes.push_back(std::exchange(opening, std::nullopt).value_or(""));
            if (code[at] == '}' && !scopes.empty()) scopes.pop_back();
            if (std::string_view("{};").find(code[at]) != std::string_view::npos) {
                opening.reset();
                parameters = {};
            }
            ++at;
        }
    }
    return kernels;
}

}  // namespace

std::vector<std::string> wrong_names(std::span<const std::string> expressions,
                                     std::span<const Diagnostic> diagnostics,
                                     std::string_view log) {
    std::vector<std::string> quoted = shown_expressions(log);
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
        names.push_back(readable_name(kernel.kernel));

    for (const auto& [name, parameters] : declared_kernels(code)) {
        const bool listed =
            std::ranges::any_of(names, [plain = plain_name(name)](const std::string& known) {
                return plain_name(known) == plain;
            });
        if (!listed) names.push_back(name + (parameters.empty() ? "" : "<...>"));
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::string_view template_parameters(std::string_view code, std::string_view kernel) {
    for (const auto& [name, parameters] : declared_kernels(code)) {
        if (plain_name(name) == plain_name(kernel)) return parameters;
    }
    return {};
}

tl::unexpected<Error> fail_for_names(std::span<const std::string> wrong,
                                     std::span<const std::string> kernels, std::string_view code,
                                     std::span<const Diagnostic> diagnostics,
                                     std::string_view source_name, std::string log) {
    std::string message;
    for (const auto& name : wrong.first(std::min(wrong.size(), most_listed))) {
        message += fmt::format("{}'{}' doesn't name a kernel or variable of '{}'.{}",
                               message.empty() ? "" : " ", shortened(name), source_name,
                               suggestion(name, kernels));
    }
    if (wrong.size() > most_listed)
        message += fmt::format(" {} other names don't either.", wrong.size() - most_listed);
    if (const auto parameters = template_parameters(code, wrong.front()); !parameters.empty()) {
        message += fmt::format(
            " It is declared with template {}: the argument for a value is a constant that "
            "converts to its type without loss, and the one for a class or typename is a type.",
            shortened(parameters));
    }
    const auto reason = std::ranges::find(diagnostics, name_map, &Diagnostic::file);
    if (reason != diagnostics.end()) {
        constexpr std::size_t most = 2 * most_quoted;
        message += fmt::format(" The compiler's reason: {}.", shortened(reason->text, most));
    }
    message += kernels.empty()
                   ? std::string(" It has no kernels.")
                   : fmt::format(" Its kernels: {}.", listed_near(wrong.front(), kernels));
    return fail(Errc::not_found, std::move(message), {}, std::move(log));
}

}  // namespace LODE_NAMESPACE
