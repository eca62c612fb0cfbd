#include "base/quantity.hpp"

#include "base/lower_case.hpp"

#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace LODE_NAMESPACE {
namespace {

/// A number and the unit after it.
struct Split {
    Quantity number;
    std::string_view unit;
};

Split split(std::string_view text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::invalid_argument)
        return {tl::unexpected(QuantityFault::malformed), text};
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    if (error != std::errc{}) return {tl::unexpected(QuantityFault::too_large), unit};
    return {number, unit};
}

Quantity times(Quantity number, std::uint64_t factor) {
    if (!number) return number;
    if (*number > std::numeric_limits<std::uint64_t>::max() / factor)
        return tl::unexpected(QuantityFault::too_large);
    return *number * factor;
}

/// `number` times the power of `base` that `letter` stands for; malformed for other letters.
Quantity scaled(Quantity number, char letter, std::uint64_t base) {
    constexpr std::string_view letters = "kmgt";
    const auto power = letters.find(letter);
    if (power == std::string_view::npos) return tl::unexpected(QuantityFault::malformed);
    for (std::size_t i = 0; i <= power; ++i)
        number = times(number, base);
    return number;
}

constexpr std::uint64_t decimal = 1000;
constexpr std::uint64_t binary = 1024;

}  // namespace

Quantity parse_count(std::string_view text) {
    const auto [number, unit] = split(text);
    if (unit.empty()) return number;
    const bool is_binary = unit.size() == 2 && unit[1] == 'i';
    const bool is_usual = unit[0] == 'k' || lower_case(unit[0]) != unit[0];  // Not m for a million.
    if (!is_usual || (unit.size() > 1 && !is_binary))
        return tl::unexpected(QuantityFault::malformed);
    return scaled(number, lower_case(unit[0]), is_binary ? binary : decimal);
}

Quantity parse_bytes(std::string_view text) {
    const auto [number, unit_text] = split(text);
    std::string unit = lower_case(unit_text);
    if (unit.starts_with(' ')) unit.erase(0, 1);
    if (unit.ends_with('b')) unit.pop_back();
    if (unit.ends_with('i') && unit.size() > 1) unit.pop_back();
    if (unit.empty()) return number;
    if (unit.size() > 1) return tl::unexpected(QuantityFault::malformed);
    return scaled(number, unit[0], binary);
}

Quantity parse_milliseconds(std::string_view text) {
    constexpr std::pair<std::string_view, std::uint64_t> units[] = {
        {"", 1}, {"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}};
    auto [number, unit] = split(text);
    if (unit.size() > 1 && unit.starts_with(' ')) unit.remove_prefix(1);
    for (const auto& [name, factor] : units)
        if (unit == name) return times(number, factor);
    return tl::unexpected(QuantityFault::malformed);
}

}  // namespace LODE_NAMESPACE
