// The parts of an Image other than its code, as bytes.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/image.hpp>

#include <span>

namespace LODE_NAMESPACE {

/// Lowered names, kernel signatures and resource reports.
[[nodiscard]] Bytes format_symbols(const Image& image);
/// Fills in what format_symbols() wrote. Accepts any bytes; false if they are damaged.
[[nodiscard]] bool parse_symbols(std::span<const std::byte> bytes, Image& image);

/// The log and the parsed diagnostics.
[[nodiscard]] Bytes format_messages(const Image& image);
/// Fills in what format_messages() wrote. Accepts any bytes; false if they are damaged.
[[nodiscard]] bool parse_messages(std::span<const std::byte> bytes, Image& image);

}  // namespace LODE_NAMESPACE
