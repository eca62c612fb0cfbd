// The files and folders that options name for results.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lode::tool {

/// Checks the value of --output or another option before the work: invalid_argument if it is empty,
/// "-", a folder, below something that isn't a folder, or one of `inputs`. `folder_cure` says what
/// to do instead of naming a folder.
[[nodiscard]] Status check_result_file(std::string_view option, const std::filesystem::path& file,
                                       std::span<const std::string> inputs,
                                       std::string_view folder_cure);

/// Checks that --output doesn't end as another kind of compiled code does than `kind`, such as
/// "cubin", the end of `result`. invalid_argument says what gives PTX for `arch`.
[[nodiscard]] Status check_result_kind(const std::filesystem::path& file, std::string_view kind,
                                       std::string_view result, const Arch& arch);

/// Checks the value of --out-dir before the work: invalid_argument unless it is a folder or can
/// become one.
[[nodiscard]] Status check_result_folder(const std::filesystem::path& folder);

/// Whether write_atomic() can make the file that an option names, before any work is done for it.
/// Refuses what isn't a regular file, which would be replaced. An empty path stands for none.
/// Errors: invalid_argument.
[[nodiscard]] Status check_output(std::string_view option, const std::filesystem::path& file);

/// Makes the missing folders on the way to a file. Errors: file_failed.
[[nodiscard]] Status make_parent_folders(const std::filesystem::path& file);

/// Writes a file with make_parent_folders() and write_atomic(). A symbolic link is followed; a
/// device or a pipe is written, not replaced. Errors: file_failed.
[[nodiscard]] Status write_result(const std::filesystem::path& file,
                                  std::span<const std::byte> bytes);

}  // namespace lode::tool
