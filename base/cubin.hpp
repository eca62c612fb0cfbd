// A reader of cubins: ELF files with device code.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE {

/// The functions, kernels and variables that a cubin defines and of which a program can have only
/// one: its defined global symbols, without weak ones. Accepts any bytes; what can't be read is
/// left out.
std::vector<std::string> cubin_definitions(std::span<const std::byte> cubin);

/// The symbols of a cubin's kernels, in the order of its symbol table. Accepts any bytes; what
/// can't be read is left out.
std::vector<std::string> cubin_kernels(std::span<const std::byte> cubin);

}  // namespace LODE_NAMESPACE
