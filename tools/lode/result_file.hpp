// The files and folders that options name for results. base/file.hpp's write_result() writes them.
#pragma once

#include "base/os/descriptor.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lode::tool {

/// A file that an option or an argument has named.
struct NamedFile {
    std::string name;  ///< "--output"; empty for an input.
    std::filesystem::path file;
};

/// Whether write_result() can write the file that an option names, before any work is done for it:
/// invalid_argument if it can't, or if the file is one of `others` or where the command's text
/// goes. `folder_cure` says what to do instead of naming a folder.
[[nodiscard]] Status check_result_file(const NamedFile& result, std::span<const NamedFile> others,
                                       std::string_view folder_cure);

/// Checks that --output doesn't end as another kind of compiled code does than `kind`, such as
/// "cubin", the end of `result`. invalid_argument says what gives PTX for `arch`.
[[nodiscard]] Status check_result_kind(const std::filesystem::path& file, std::string_view kind,
                                       std::string_view result, const Arch& arch);

/// Refuses a file for --json with the extension of a pack or of compiled code: a result may get
/// that name later. The name it proposes ends with .json.
[[nodiscard]] Status check_report_file(const std::filesystem::path& file);

/// Checks the value of --out-dir before the work: invalid_argument unless it is a folder that can
/// be written or can become one.
[[nodiscard]] Status check_result_folder(const std::filesystem::path& folder);

/// A file in memory. This process and those that it starts open it by `path`.
struct MemoryFile {
    Descriptor file;
    std::filesystem::path path;
};
/// Errors: file_failed.
[[nodiscard]] Result<MemoryFile> make_memory_file();

}  // namespace lode::tool
