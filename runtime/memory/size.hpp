// The size of an allocation.
#pragma once

#include <lode/base/error.hpp>

#include <cstddef>
#include <limits>

#include <fmt/format.h>

namespace lode::detail {

/// count × size; out_of_memory if the product overflows.
[[nodiscard]] inline Result<std::size_t> bytes_of(std::size_t count, std::size_t size) {
    if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size) {
        return fail(Errc::out_of_memory,
                    fmt::format("{} elements of {} bytes exceed the address space.", count, size));
    }
    return count * size;
}

}  // namespace lode::detail
