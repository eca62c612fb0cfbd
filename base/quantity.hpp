// Counts, sizes and times with units, as the command line and variables have them.
#pragma once

#include <lode/base/api.hpp>

#include <cstdint>
#include <string_view>

#include <tl/expected.hpp>

namespace LODE_NAMESPACE {

/// Why a text isn't a quantity.
enum class QuantityFault : std::uint8_t { malformed, too_large };

using Quantity = tl::expected<std::uint64_t, QuantityFault>;

/// A number of things: "1000", "1k" for 1000 and "1Ki" for 1024; likewise M, G and T.
Quantity parse_count(std::string_view text);

/// A number of bytes: "1024", "1K", "1KB", "1Ki" and "1KiB" are the same; likewise M, G and T. Case
/// doesn't count, and a blank may precede the unit.
Quantity parse_bytes(std::string_view text);

/// A number of milliseconds: "2000", "2000ms" and "2s" are the same; likewise min and h. A blank
/// may precede the unit.
Quantity parse_milliseconds(std::string_view text);

}  // namespace LODE_NAMESPACE
