#include "base/cxx_names.hpp"

#include "base/identifier.hpp"
#include "base/lower_case.hpp"
#include "base/message_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include <cxxabi.h>
#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view anonymous = "(anonymous namespace)::";

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The position of the parameter list: the first "(" outside template brackets; the size if there
/// is none.
std::size_t name_end(std::string_view name) {
    int depth = 0;
    std::size_t end = 0;
    while (end < name.size() && (name[end] != '(' || depth > 0)) {
        depth += name[end] == '<' ? 1 : name[end] == '>' ? -1 : 0;
        ++end;
    }
    return end;
}

/// Strips what may precede a kernel's name: "&", the return type of a template's symbol, and
/// unnamed namespaces.
std::string bare(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('&')) text = trimmed(text.substr(1));
    if (constexpr std::string_view result = "void "; text.starts_with(result))
        text = trimmed(text.substr(result.size()));
    std::string name(text);
    for (auto at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous, at))
        name.erase(at, anonymous.size());
    return name;
}

/// Everything before the plain name: "ns::".
std::string_view scope_of(std::string_view name) {
    const auto head = name.substr(0, name.find('<'));
    const auto scope = head.rfind("::");
    return scope == std::string_view::npos ? std::string_view() : head.substr(0, scope + 2);
}

/// Describes the difference between two names that share a plain name except for case.
std::string_view difference(std::string_view wanted, std::string_view name) {
    if (plain_name(wanted) != plain_name(name)) return " The case differs.";
    if (scope_of(wanted) != scope_of(name)) {
        return scope_of(wanted).empty() ? " Its namespace is part of the name."
                                        : " The namespace differs.";
    }
    const bool has_arguments = wanted.find('<') != std::string_view::npos;
    const bool is_template = name.find('<') != std::string_view::npos;
    if (is_template && !has_arguments) return " A template's arguments are part of the name.";
    if (is_template) return " The template arguments differ.";
    if (has_arguments) return " It isn't a template.";
    return " The parameters differ.";
}

}  // namespace

std::optional<std::string> demangled(std::string_view symbol) {
    if (!symbol.starts_with("_Z")) return std::nullopt;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
    if (status != 0 || text == nullptr) return std::nullopt;
    return std::string(text.get());
}

std::vector<std::string> parameter_types(std::string_view symbol) {
    std::vector<std::string> types;
    const std::string name = bare(demangled(symbol).value_or(""));
    const std::size_t begin = name_end(name) + 1;
    const std::size_t end = name.rfind(')');
    if (begin >= name.size() || end <= begin || end == std::string::npos) return types;
    int depth = 0;
    std::size_t start = begin;
    for (std::size_t i = begin; i <= end; ++i) {
        constexpr std::string_view opening = "<([{";
        constexpr std::string_view closing = ">)]}";
        if (depth == 0 && (name[i] == ',' || i == end)) {
            types.emplace_back(trimmed(std::string_view(name).substr(start, i - start)));
            start = i + 1;
        } else if (opening.find(name[i]) != std::string_view::npos) {
            ++depth;
        } else if (closing.find(name[i]) != std::string_view::npos) {
            --depth;
        }
    }
    return types;
}

std::optional<NumberType> number_type(std::string_view name) {
    struct Row {
        std::string_view name;
        NumberType type;
    };
    constexpr auto row = []<class T>(std::string_view of, std::type_identity<T>) {
        return Row{of, {std::is_floating_point_v<T>, std::is_signed_v<T>, sizeof(T)}};
    };
    using std::type_identity;
    static constexpr Row rows[] = {
        row("float", type_identity<float>()),
        row("double", type_identity<double>()),
        row("bool", type_identity<bool>()),
        row("char", type_identity<char>()),
        row("signed char", type_identity<signed char>()),
        row("unsigned char", type_identity<unsigned char>()),
        row("short", type_identity<short>()),
        row("unsigned short", type_identity<unsigned short>()),
        row("int", type_identity<int>()),
        row("unsigned int", type_identity<unsigned int>()),
        row("long", type_identity<long>()),
        row("unsigned long", type_identity<unsigned long>()),
        row("long long", type_identity<long long>()),
        row("unsigned long long", type_identity<unsigned long long>()),
    };
    const auto* const found = std::ranges::find(rows, name, &Row::name);
    return found == std::end(rows) ? std::nullopt : std::optional(found->type);
}

std::string_view pointee_type(std::string_view type) {
    if (!type.ends_with('*')) return {};
    type.remove_suffix(1);
    for (const std::string_view qualifier : {" volatile", " const"})
        if (type.ends_with(qualifier)) type.remove_suffix(qualifier.size());
    return type;
}

std::string readable_name(std::string_view symbol) {
    const auto text = demangled(symbol);
    if (!text) return std::string(symbol);
    std::string name = bare(*text);
    name.resize(name_end(name));
    return name;
}

std::string with_readable_symbols(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const auto begin = std::min(text.find("_Z"), text.size());
        auto end = begin;
        while (end < text.size() && is_symbol_character(text[end]))
            ++end;
        const char before = begin == 0 ? ' ' : text[begin - 1];
        const auto name =
            is_symbol_character(before) ? std::nullopt : demangled(text.substr(begin, end - begin));
        const bool is_quoted = before == '\'' || before == '"';
        if (name && is_quoted && end < text.size() && text[end] == before) ++end;
        result += text.substr(0, end);
        if (name) result += fmt::format(" ({})", *name);
        text.remove_prefix(end);
    }
    return result;
}

std::vector<std::string> symbols_named(std::string_view wanted,
                                       std::span<const NamedSymbol> candidates) {
    const std::string asked = bare(wanted);
    const bool with_parameters = name_end(asked) < asked.size();
    std::vector<std::string> found;
    for (const auto spelling : {Spelling::exact, Spelling::loose}) {
        const auto canonical = canonical_name(asked, spelling);
        for (const auto& candidate : candidates) {
            std::string name = candidate.name;
            if (name.empty() && with_parameters) {
                name = demangled(candidate.symbol).value_or(candidate.symbol);
            } else if (name.empty()) {
                name = readable_name(candidate.symbol);
            }
            if (canonical_name(bare(name), spelling) == canonical)
                found.push_back(candidate.symbol);
        }
        if (!found.empty()) break;
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

std::string_view plain_name(std::string_view name) {
    name = trimmed(name);
    if (name.starts_with('&')) name.remove_prefix(1);
    name = name.substr(0, std::min(name.find('<'), name.find('(')));
    const auto scope = name.rfind("::");
    return trimmed(scope == std::string_view::npos ? name : name.substr(scope + 2));
}

std::string suggestion(std::string_view wanted, std::span<const std::string> names) {
    constexpr std::size_t letters_per_slip = 3;
    const std::string readable = readable_name(wanted);
    const std::string asked = bare(readable);
    const auto plain = plain_name(asked);
    const bool is_mangled = readable != wanted;
    const auto same = canonical_name(asked, Spelling::exact);
    const auto is_same = [&](std::string_view name) {
        return canonical_name(bare(name), Spelling::exact) == same;
    };
    const std::size_t limit =
        plain.empty() ? 0 : std::min(plain.size() / letters_per_slip + 1, plain.size() - 1);
    // The plain names decide; the full names break ties.
    constexpr std::size_t none = ~std::size_t{0};
    std::pair best{none, none};
    const std::string* match = nullptr;
    for (const auto& name : names) {
        if (!is_mangled && is_same(name)) continue;
        const auto distance = edit_distance(lower_case(plain), lower_case(plain_name(name)));
        if (distance > limit) continue;
        const std::pair rank{distance, edit_distance(asked, name)};
        if (rank >= best) continue;
        best = rank;
        match = &name;
    }
    if (match == nullptr) return {};
    const std::string_view differs = is_same(*match)   ? " Its symbol differs."
                                     : best.first == 0 ? difference(asked, *match)
                                                       : "";
    return fmt::format(
        "{} Did you mean '{}'?{}",
        is_mangled ? fmt::format(" It is the symbol of '{}'.", shortened(readable)) : "",
        shortened(*match), differs);
}

std::string listed_near(std::string_view wanted, std::span<const std::string> names) {
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (names.size() > most_listed) {
        const auto plain = [](std::string_view name) {
            return lower_case(plain_name(bare(readable_name(name))));
        };
        std::vector<std::size_t> distances;
        for (const auto& name : names)
            distances.push_back(edit_distance(plain(wanted), plain(name)));
        std::ranges::stable_sort(order, {}, [&](std::size_t i) { return distances[i]; });
    }
    std::vector<std::string> texts(names.size());
    for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i) {
        const std::string& name = names[order[i]];
        const auto readable = demangled(name);
        texts[i] = readable ? fmt::format("{} ({})", *readable, name) : name;
    }
    return listed(texts);
}

}  // namespace LODE_NAMESPACE
