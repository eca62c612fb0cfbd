// A scan of PTX text for its directives; not a parser of its code.
#pragma once

#include <lode/base/arch.hpp>

#include <optional>
#include <string_view>

namespace lode {

/// The .target of a PTX text as a virtual architecture; nullopt without a readable one.
std::optional<Arch> ptx_target_of(std::string_view ptx);

/// Whether a text begins as PTX does, with .version: how the driver tells PTX from anything else.
bool begins_as_ptx(std::string_view text);

}  // namespace lode
