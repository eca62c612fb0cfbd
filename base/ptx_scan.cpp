#include "base/ptx_scan.hpp"

#include "base/align_up.hpp"

#include <lode/base/image.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

namespace LODE_NAMESPACE {
namespace {

/// Marks the characters of names, directives and numbers.
constexpr std::array<bool, 256> make_word_characters() {
    std::array<bool, 256> marks{};
    for (const char c : std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_$.%")) {
        marks[static_cast<unsigned char>(c)] = true;
    }
    return marks;
}

bool is_word_character(char c) noexcept {
    static constexpr auto marks = make_word_characters();
    return marks[static_cast<unsigned char>(c)];
}

/// Reads PTX word by word: names, directives, numbers and quoted strings are one word each, as is
/// every other character; blanks and comments are skipped.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    /// The next word; empty at the end.
    std::string_view next() {
        skip_blanks_and_comments();
        if (text_.empty()) return {};
        if (text_[0] == '"') return take_through("\"", 1);
        const auto end = std::ranges::find_if_not(text_, is_word_character);
        return take(std::max<std::size_t>(1, static_cast<std::size_t>(end - text_.begin())));
    }

    /// Moves past the next occurrence of `directive`; false if there is none.
    bool skip_past(std::string_view directive) {
        for (auto word = next(); !word.empty(); word = next()) {
            if (word == directive) return true;
        }
        return false;
    }

private:
    std::string_view take(std::size_t length) {
        const auto taken = text_.substr(0, length);
        text_.remove_prefix(taken.size());
        return taken;
    }

    /// Returns everything up to and including the first `end` after `from`; the rest if there is
    /// none.
    std::string_view take_through(std::string_view end, std::size_t from) {
        const auto at = text_.find(end, from);
        return take(at == std::string_view::npos ? text_.size() : at + end.size());
    }

    void skip_blanks_and_comments() {
        for (;;) {
            text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
            if (text_.starts_with("//")) {
                take_through("\n", 2);
            } else if (text_.starts_with("/*")) {
                take_through("*/", 2);
            } else {
                return;
            }
        }
    }

    std::string_view text_;
};

/// The number that the whole word spells; 0 for any other word.
template <class Number>
Number number_of(std::string_view word) {
    Number number{};
    const char* const last = word.data() + word.size();
    const auto [end, problem] = std::from_chars(word.data(), last, number);
    return problem == std::errc{} && end == last ? number : Number{};
}

/// Size in bytes of a fundamental PTX type such as ".u64"; 0 for any other word.
std::size_t size_of_type(std::string_view type) {
    constexpr int bits_per_byte = 8;
    if (type.size() < 3 || type[0] != '.' ||
        std::string_view("usfb").find(type[1]) == std::string_view::npos) {
        return 0;
    }
    const auto bits = number_of<std::size_t>(type.substr(2));
    const bool fundamental = bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
    return fundamental ? bits / bits_per_byte : 0;
}

KernelParameter::Kind kind_of_type(std::string_view type) {
    switch (type[1]) {
        case 'f':
            return KernelParameter::Kind::floating_point;
        case 'u':
        case 's':
            return KernelParameter::Kind::integer;
        default:
            return KernelParameter::Kind::unknown;
    }
}

/// Reads one parameter, starting after ".param"; the ',' or ')' that ends it is stored in `end`.
KernelParameter scan_parameter(Scanner& scanner, std::string_view& end) {
    KernelParameter parameter;
    std::size_t element_size = 0;
    bool is_pointer = false;
    for (auto word = scanner.next(); !word.empty(); word = scanner.next()) {
        if (word == "," || word == ")") {
            end = word;
            break;
        }
        if (word == ".align") {
            const auto align = number_of<std::size_t>(scanner.next());
            if (!is_pointer) parameter.align = align;  // After .ptr it is the pointee's.
        } else if (word == ".ptr") {
            is_pointer = true;
        } else if (word == "[") {
            parameter.kind = KernelParameter::Kind::aggregate;
            parameter.size = element_size * number_of<std::size_t>(scanner.next());
        } else if (const auto size = size_of_type(word); size != 0) {
            element_size = size;
            parameter.size = size;
            parameter.kind = kind_of_type(word);
        }
    }
    if (is_pointer) parameter.kind = KernelParameter::Kind::pointer;
    if (parameter.align == 0) parameter.align = std::max<std::size_t>(element_size, 1);
    return parameter;
}

std::vector<KernelParameter> scan_parameters(Scanner& scanner) {
    std::vector<KernelParameter> parameters;
    std::size_t offset = 0;
    std::string_view end = ",";
    while (end == ",") {
        end = {};
        if (scanner.next() != ".param") break;
        KernelParameter parameter = scan_parameter(scanner, end);
        offset = align_up(offset, parameter.align);
        parameter.offset = offset;
        offset += parameter.size;
        parameters.push_back(parameter);
    }
    return parameters;
}

/// Moves past the bracket that closes one that was just read.
void skip_brackets(Scanner& scanner, std::string_view open, std::string_view close) {
    int depth = 1;
    for (auto word = scanner.next(); depth > 0 && !word.empty(); word = scanner.next()) {
        if (word == open) ++depth;
        if (word == close && --depth == 0) return;
    }
}

/// A directive at module level: what it declares, and how.
struct Declaration {
    std::string_view name;
    bool is_visible = false;
    bool has_body = false;  ///< A function's code, or a variable's initial value.
    bool is_function = false;
};

/// Reads the next directive at module level through its ';' or its body; nullopt at the end.
std::optional<Declaration> scan_declaration(Scanner& scanner) {
    Declaration found;
    bool is_named = false;
    for (auto word = scanner.next(); !word.empty(); word = scanner.next()) {
        if (word == ";") return found;
        if (word == "{") {
            found.has_body = true;
            skip_brackets(scanner, "{", "}");
            if (found.is_function) return found;
        } else if (word == "(") {
            skip_brackets(scanner, "(", ")");
        } else if (word == ".version" || word == ".target" || word == ".address_size") {
            found = {};  // They end without a ';', and what follows begins with a dot.
            is_named = false;
            scanner.next();
        } else if (word == ".visible") {
            found.is_visible = true;
        } else if (word == ".func" || word == ".entry") {
            found.is_function = true;
        } else if (word == "[" || word == "=") {
            is_named = true;
        } else if (!is_named && word[0] != '.' && number_of<int>(word) == 0 && word != "0" &&
                   (is_word_character(word[0]))) {
            found.name = word;
            is_named = found.is_function;  // A variable's name is the last word of its type.
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<std::string> ptx_definitions(std::string_view ptx) {
    std::vector<std::string> names;
    Scanner scanner(ptx);
    while (const auto found = scan_declaration(scanner)) {
        const bool is_defined = found->is_visible && (!found->is_function || found->has_body);
        if (is_defined && !found->name.empty()) names.emplace_back(found->name);
    }
    return names;
}

std::optional<Arch> ptx_target_of(std::string_view ptx) {
    Scanner scanner(ptx);
    if (!scanner.skip_past(".target")) return {};
    const auto arch = Arch::parse(scanner.next());
    return arch ? std::optional(arch->as_virtual()) : std::nullopt;
}

std::optional<PtxVersion> ptx_version_of(std::string_view ptx) {
    Scanner scanner(ptx);
    if (!scanner.skip_past(".version")) return {};
    const auto word = scanner.next();
    const auto dot = word.find('.');
    if (dot == std::string_view::npos) return {};
    const int version_major = number_of<int>(word.substr(0, dot));
    if (version_major == 0) return {};
    return PtxVersion{version_major, number_of<int>(word.substr(dot + 1))};
}

std::vector<KernelSignature> kernels_of_ptx(std::string_view ptx) {
    std::vector<KernelSignature> kernels;
    std::unordered_set<std::string_view> known;
    Scanner scanner(ptx);
    while (scanner.skip_past(".entry")) {
        const auto name = scanner.next();
        KernelSignature kernel{std::string(name), {}};
        if (scanner.next() == "(") kernel.parameters = scan_parameters(scanner);
        if (!name.empty() && known.insert(name).second) kernels.push_back(std::move(kernel));
    }
    return kernels;
}

std::string quoted_file_of_ptx(std::string_view ptx) {
    constexpr std::string_view quote = "\\\"";
    for (auto at = ptx.find(".file"); at != std::string_view::npos;
         at = ptx.find(".file", at + 1)) {
        auto line = ptx.substr(at, ptx.find('\n', at) - at);
        if (line.find(quote) == std::string_view::npos) continue;
        line = line.substr(line.find('"') + 1);
        std::string path(line.substr(0, line.rfind('"')));
        for (auto escape = path.find(quote); escape != std::string::npos;
             escape = path.find(quote, escape + 1))
            path.erase(escape, 1);
        return path;
    }
    return {};
}

bool begins_as_ptx(std::string_view text) {
    return Scanner(text).next() == ".version";
}

}  // namespace LODE_NAMESPACE
