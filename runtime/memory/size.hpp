// The size of an allocation.
#pragma once

#include <lode/base/error.hpp>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {

/// The product of all factors; nothing if it overflows on the way.
[[nodiscard]] constexpr std::optional<std::size_t> product(
    std::initializer_list<std::size_t> factors) noexcept {
    std::size_t all = 1;
    for (const std::size_t factor : factors) {
        if (factor != 0 && all > std::numeric_limits<std::size_t>::max() / factor)
            return std::nullopt;
        all *= factor;
    }
    return all;
}

/// count × size; out_of_memory if the product overflows.
[[nodiscard]] inline Result<std::size_t> bytes_of(std::size_t count, std::size_t size) {
    if (const auto bytes = product({count, size})) return *bytes;
    return fail(Errc::out_of_memory,
                fmt::format("{} elements of {} bytes exceed the address space.", count, size));
}

/// Refuses another process's memory unless it is a whole number of elements, at least one.
[[nodiscard]] inline Status check_whole_elements(std::size_t bytes, std::size_t size) {
    if (bytes != 0 && bytes % size == 0) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The handle is of {} bytes, which aren't a whole number of elements of "
                            "{} bytes.",
                            bytes, size));
}

/// "4 x 3 x 1"
template <class Extent>
[[nodiscard]] std::string extent_text(const Extent& extent) {
    return fmt::format("{} x {} x {}", extent.width, extent.height, extent.depth);
}

}  // namespace LODE_NAMESPACE::detail
