// What both linkers, nvJitLink and the driver, have in common.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/linker.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::link {

/// Checks that there are inputs, that the target can run each, and that no two inputs in PTX or
/// machine code define the same symbol: nvJitLink would keep one of the definitions and print a
/// line to the process's stdout. Errors: invalid_argument; unsupported_arch; link_failed.
[[nodiscard]] Status check_inputs(std::span<const LinkInput> inputs, const Arch& target);

/// Checks the options that both have. Errors: invalid_argument.
[[nodiscard]] Status check_options(const LinkOptions& options);

/// " No input defines '_Z5sevenv' (seven())."; empty if a linker's text names no such symbol.
[[nodiscard]] std::string explain(std::string_view log);

/// Adds an input's name, lowered names and signatures to the result.
void describe(const LinkInput& input, Image& linked);

/// A final NUL for PTX; the bytes unchanged for other formats.
[[nodiscard]] std::vector<std::byte> terminated(const LinkInput& input);

}  // namespace LODE_NAMESPACE::link
