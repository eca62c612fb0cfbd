#pragma once

#include <concepts>
#include <type_traits>

namespace lode {

/// Rounds up to a multiple of `alignment`, which may be any nonzero number. The sum must not
/// overflow.
template <std::unsigned_integral Number>
constexpr Number align_up(Number value, std::type_identity_t<Number> alignment) noexcept {
    return (value + alignment - 1) / alignment * alignment;
}

}  // namespace lode
