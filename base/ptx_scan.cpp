#include "base/ptx_scan.hpp"

#include <lode/base/image.hpp>

#include <algorithm>
#include <charconv>

namespace lode {
namespace {

constexpr std::string_view word_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.%";
constexpr std::string_view blanks = " \t\r\n";

/// Reads PTX word by word: names and directives as a whole, every other character by itself,
/// comments skipped.
class Scanner {
public:
    explicit Scanner(std::string_view text) : text_(text) {}

    /// The next word; empty at the end.
    std::string_view next() {
        skip_blanks_and_comments();
        if (text_.empty()) return {};
        const std::size_t length = std::max<std::size_t>(
            1, std::min(text_.find_first_not_of(word_characters), text_.size()));
        const auto word = text_.substr(0, length);
        text_.remove_prefix(length);
        return word;
    }

    /// Moves just behind the next occurrence of `directive` as a whole word; false without one.
    bool skip_behind(std::string_view directive) {
        for (;;) {
            const auto at = text_.find(directive);
            if (at == std::string_view::npos) return false;
            const bool in_comment = is_in_line_comment(at);
            text_.remove_prefix(at + directive.size());
            const bool ends =
                text_.empty() || word_characters.find(text_[0]) == std::string_view::npos;
            if (ends && !in_comment) return true;
        }
    }

private:
    [[nodiscard]] bool is_in_line_comment(std::size_t at) const {
        const auto line_start = text_.substr(0, at).rfind('\n');
        const auto start = line_start == std::string_view::npos ? 0 : line_start;
        return text_.substr(start, at - start).find("//") != std::string_view::npos;
    }

    void skip_blanks_and_comments() {
        for (;;) {
            text_.remove_prefix(std::min(text_.find_first_not_of(blanks), text_.size()));
            std::string_view end;
            if (text_.starts_with("//")) end = "\n";
            if (text_.starts_with("/*")) end = "*/";
            if (end.empty()) return;
            const auto at = text_.find(end, 2);
            text_.remove_prefix(at == std::string_view::npos ? text_.size() : at + end.size());
        }
    }

    std::string_view text_;
};

template <class Number>
Number number_of(std::string_view word) {
    Number number{};
    std::from_chars(word.data(), word.data() + word.size(), number);
    return number;
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

/// One parameter, from behind ".param" up to the ',' or ')' that ends it, which goes to `end`.
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
            if (!is_pointer) parameter.align = align;  // Behind .ptr it is the pointee's.
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
        offset = (offset + parameter.align - 1) / parameter.align * parameter.align;
        parameter.offset = offset;
        offset += parameter.size;
        parameters.push_back(parameter);
    }
    return parameters;
}

}  // namespace

std::optional<Arch> ptx_target_of(std::string_view ptx) {
    Scanner scanner(ptx);
    if (!scanner.skip_behind(".target")) return {};
    const auto arch = Arch::parse(scanner.next());
    return arch ? std::optional(arch->as_virtual()) : std::nullopt;
}

std::optional<PtxVersion> ptx_version_of(std::string_view ptx) {
    Scanner scanner(ptx);
    if (!scanner.skip_behind(".version")) return {};
    const auto word = scanner.next();
    const auto dot = word.find('.');
    if (dot == std::string_view::npos) return {};
    return PtxVersion{number_of<int>(word.substr(0, dot)), number_of<int>(word.substr(dot + 1))};
}

std::vector<KernelSignature> kernels_of_ptx(std::string_view ptx) {
    std::vector<KernelSignature> kernels;
    Scanner scanner(ptx);
    while (scanner.skip_behind(".entry")) {
        KernelSignature kernel{std::string(scanner.next()), {}};
        if (scanner.next() == "(") kernel.parameters = scan_parameters(scanner);
        kernels.push_back(std::move(kernel));
    }
    return kernels;
}

}  // namespace lode
