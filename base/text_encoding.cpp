#include "base/text_encoding.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

using namespace std::string_view_literals;

bool is_printable(char c) noexcept {
    return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
}

/// Whether the text begins with two characters of two bytes, with the printable byte at `at`.
bool begins_with_pairs(std::string_view text, std::size_t at) noexcept {
    return text.size() >= 4 && is_printable(text[at]) && is_printable(text[at + 2]) &&
           text[1 - at] == '\0' && text[3 - at] == '\0';
}

std::string_view foreign_encoding(std::string_view text) noexcept {
    if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
    if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv)) return "UTF-16";
    return begins_with_pairs(text, 0) || begins_with_pairs(text, 1) ? "UTF-16" : "";
}

}  // namespace

std::size_t byte_order_mark_size(std::string_view text) noexcept {
    constexpr auto mark = "\xEF\xBB\xBF"sv;
    return text.starts_with(mark) ? mark.size() : 0;
}

Status check_encoding(std::string_view text, std::string_view name, Errc code) {
    const auto encoding = foreign_encoding(text);
    if (encoding.empty()) return {};
    return fail(code, fmt::format("'{}' is {} text, which lode doesn't read: save it as UTF-8.",
                                  name, encoding));
}

}  // namespace LODE_NAMESPACE
