// Calculation: a call of the C library by which a compiler folds constants.
//
// The results of sin, pow and their like differ between C libraries in the last bit, so they are
// inputs of the code like the bytes of a header. (Other functions, such as sqrt and floor, have one
// right result.)
#pragma once

#include <lode/base/api.hpp>

#include <compare>
#include <cstdint>
#include <string>

namespace LODE_NAMESPACE {

/// A function of calculations.def by its number, and the bits of its arguments as doubles; `y` is 0
/// for functions of one argument.
struct Calculation {
    std::uint8_t function = 0;
    std::uint64_t x = 0;
    std::uint64_t y = 0;

    friend auto operator<=>(const Calculation&, const Calculation&) = default;
};

/// The bits of the result with this process's C library, rounded to the nearest value whatever the
/// thread's rounding mode; 0 for an unknown function.
[[nodiscard]] std::uint64_t calculate(const Calculation& calculation) noexcept;

/// "pow(3ff199999999999a, 400199999999999a)"
[[nodiscard]] std::string to_string(const Calculation& calculation);

}  // namespace LODE_NAMESPACE
