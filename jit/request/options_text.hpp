// The meaning of texts in compile options, for flags, recordings and the `lode` command.
#pragma once

#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace LODE_NAMESPACE {

// The names of options' values, in the order of the enumerators.
inline constexpr std::string_view standard_names[] = {"c++11", "c++14", "c++17", "c++20"};
inline constexpr std::string_view preset_names[] = {"ieee", "fast", "host_comparable"};
inline constexpr std::string_view tile_names[] = {"none", "enabled", "only"};

inline constexpr std::string_view language_names[] = {"cuda", "ptx", "nvvm_ir", "llvm_ir"};

constexpr std::span<const std::string_view> names_of(Source::Language /*type*/) {
    return language_names;
}
constexpr std::span<const std::string_view> names_of(Standard /*type*/) {
    return standard_names;
}
constexpr std::span<const std::string_view> names_of(Math::Preset /*type*/) {
    return preset_names;
}
constexpr std::span<const std::string_view> names_of(Tile /*type*/) {
    return tile_names;
}

template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::string_view name_of(Enum value) {
    return names_of(value)[static_cast<std::size_t>(value)];
}

/// The value of this name; nullopt for other texts.
template <class Enum>
std::optional<Enum> value_named(std::string_view text) {
    const auto names = names_of(Enum{});
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

/// "a, b or c"
std::string alternatives(std::span<const std::string_view> names);

/// What standard_of() accepts; also with "c++" in front.
inline constexpr std::string_view standards_text = "11, 14, 17, 20";

/// "17" or "c++17"; nullopt for other texts.
std::optional<Standard> standard_of(std::string_view text);

/// Parses "NAME", "NAME=VALUE" or "NAME(PARAMETERS)=VALUE"; the name isn't checked.
Definition definition_of(std::string_view text);

}  // namespace LODE_NAMESPACE
