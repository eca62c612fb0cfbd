// The architecture that a mistyped one means.
#pragma once

#include <lode/base/api.hpp>

#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// "sm_80" for "sm80", "80", "8.0" and "SM_80". Empty if it can't be guessed.
[[nodiscard]] std::string suggested_arch(std::string_view text);

}  // namespace LODE_NAMESPACE
