// Suggestions for words that were mistyped.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lode::tool {

/// The candidate nearest to `word`: at most one edit away, or a third of the word's length. An edit
/// inserts, removes or replaces a character or exchanges two neighbours; letters' case doesn't
/// count. Empty if no candidate is that near.
[[nodiscard]] std::string closest(std::string_view word, std::span<const std::string> candidates);

/// " Did you mean 'x'?", or nothing for an empty suggestion.
[[nodiscard]] std::string did_you_mean(std::string_view suggestion);

/// The architecture that other spellings mean: "sm_80" for "sm80", "80", "8.0" and "SM_80". Empty
/// if it can't be guessed.
[[nodiscard]] std::string suggested_arch(std::string_view text);

}  // namespace lode::tool
