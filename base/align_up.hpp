#pragma once

#include <lode/base/api.hpp>

#include <concepts>
#include <type_traits>

namespace LODE_NAMESPACE {

/// The quotient, rounded up, of a number that isn't negative and a positive one.
template <std::integral Number>
constexpr Number divide_up(Number value, std::type_identity_t<Number> divisor) noexcept {
    return static_cast<Number>(value / divisor + (value % divisor == 0 ? 0 : 1));
}

/// Rounds up to a multiple of `alignment`, which may be any positive number. The result must not
/// overflow.
template <std::integral Number>
constexpr Number align_up(Number value, std::type_identity_t<Number> alignment) noexcept {
    return static_cast<Number>(divide_up(value, alignment) * alignment);
}

}  // namespace LODE_NAMESPACE
