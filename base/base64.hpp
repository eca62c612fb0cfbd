// Bytes as text (RFC 4648, with padding).
#pragma once

#include <lode/base/api.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// The bytes, or nothing if the text isn't to_base64() of any.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace LODE_NAMESPACE
