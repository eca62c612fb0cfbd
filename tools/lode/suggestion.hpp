// Suggestions for words that were mistyped: closest() and did_you_mean(), and for architectures.
#pragma once

#include "base/message_text.hpp"

#include <string>
#include <string_view>

namespace lode::tool {

/// The architecture that other spellings mean: "sm_80" for "sm80", "80", "8.0" and "SM_80". Empty
/// if it can't be guessed.
[[nodiscard]] std::string suggested_arch(std::string_view text);

}  // namespace lode::tool
