// The start of texts that aren't plain UTF-8.
#pragma once

#include <lode/base/error.hpp>

#include <cstddef>
#include <string_view>

namespace LODE_NAMESPACE {

/// The size of UTF-8's byte order mark at the start of a text; 0 if it has none.
std::size_t byte_order_mark_size(std::string_view text) noexcept;

/// Errors: `code`, naming the text and its encoding, if it is UTF-16 or UTF-32: it begins with that
/// byte order mark, or with two printable characters of two bytes each.
[[nodiscard]] Status check_encoding(std::string_view text, std::string_view name, Errc code);

}  // namespace LODE_NAMESPACE
