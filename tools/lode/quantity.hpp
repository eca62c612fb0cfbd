// Counts and sizes with units, as the command line has them.
#pragma once

#include <cstdint>
#include <string_view>

#include <tl/expected.hpp>

namespace lode::tool {

/// Why a text isn't a quantity.
enum class QuantityFault : std::uint8_t { malformed, too_large };

/// A number of things: "1000", "1k" for 1000 and "1Ki" for 1024; likewise M, G and T.
tl::expected<std::uint64_t, QuantityFault> parse_count(std::string_view text);

/// A number of bytes: "1024", "1K", "1KB", "1Ki" and "1KiB" are the same; likewise M, G and T. Case
/// doesn't count, and a blank may precede the unit.
tl::expected<std::uint64_t, QuantityFault> parse_bytes(std::string_view text);

}  // namespace lode::tool
