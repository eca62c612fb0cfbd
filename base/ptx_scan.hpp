// A scan of PTX text for its directives; it doesn't parse code.
#pragma once

#include <lode/base/arch.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The .target of a PTX text as a virtual architecture; nullopt if there is no readable one.
std::optional<Arch> ptx_target_of(std::string_view ptx);

/// The functions, kernels and variables that a PTX text defines with .visible, of which a program
/// can have only one; weak and common ones can be defined several times.
std::vector<std::string> ptx_definitions(std::string_view ptx);

/// The path with a double quote that a .file directive names; empty if none does. NVRTC writes the
/// quote as \", which no assembler reads: PTX has no way to write that character.
std::string quoted_file_of_ptx(std::string_view ptx);

/// Whether a text begins with .version: the driver identifies PTX by it.
bool begins_as_ptx(std::string_view text);

}  // namespace LODE_NAMESPACE
