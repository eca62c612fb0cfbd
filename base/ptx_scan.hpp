// A scan of PTX text for its directives; it doesn't parse code.
#pragma once

#include <lode/base/arch.hpp>

#include <optional>
#include <string_view>

namespace lode {

/// The .target of a PTX text as a virtual architecture; nullopt if there is no readable one.
std::optional<Arch> ptx_target_of(std::string_view ptx);

/// Whether a text begins with .version: the driver identifies PTX by it.
bool begins_as_ptx(std::string_view text);

}  // namespace lode
