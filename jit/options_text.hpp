// The meaning of texts in compile options, for CompileOptions::parse() and the `lode` command.
#pragma once

#include <lode/jit/options.hpp>

#include <optional>
#include <string_view>

namespace LODE_NAMESPACE {

/// What standard_of() accepts; also with "c++" in front.
inline constexpr std::string_view standards_text = "11, 14, 17, 20";

/// "17" or "c++17"; nullopt for other texts.
std::optional<Standard> standard_of(std::string_view text);

/// Parses "NAME", "NAME=VALUE" or "NAME(PARAMETERS)=VALUE"; the name isn't checked.
Definition definition_of(std::string_view text);

}  // namespace LODE_NAMESPACE
