// The files that a command line names, where "-" is standard input.
#pragma once

#include "tools/lode/options.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/source.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

inline constexpr std::string_view standard_input = "-";

/// invalid_argument if standard input is named twice: it can be read only once.
[[nodiscard]] Status check_inputs(std::span<const std::string> names);

/// "stdin" for standard input, else the file's name without its folder.
[[nodiscard]] std::string input_name(const std::string& name);

/// Reads a file, or standard input to its end. Errors: not_found, file_failed; file_failed for
/// standard input of more than 1 GiB.
[[nodiscard]] Result<std::vector<std::byte>> read_input(const std::string& name);

/// The language that a file's name tells, but with --llvm-ir LLVM IR in the place of NVVM IR, and
/// for standard input.
[[nodiscard]] Source::Language language_of(const std::string& name, bool is_llvm_ir);

/// Refuses an option that a file's language doesn't have and that to_compile_options() can't show,
/// because it names the default or a language. Standard input has any language here. Error:
/// invalid_argument.
[[nodiscard]] Status check_options(const std::string& name, const CompileFlags& flags);

/// A file of language_of(); standard input is read and named "stdin.ptx" if it begins as PTX,
/// "stdin.ll" or "stdin.bc" if it begins as IR, else "stdin.cu", which tells its language without
/// --llvm-ir. Errors: those of reading standard input.
[[nodiscard]] Result<Source> source_of(const std::string& name, bool is_llvm_ir);

}  // namespace lode::tool
