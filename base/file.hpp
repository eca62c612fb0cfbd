// Files: whole reads and atomic writes.
#pragma once

#include "base/os/file.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// Default limit of a read, in bytes.
inline constexpr std::uint64_t largest_file = std::uint64_t{16} << 30;

/// Reads a whole file, which must be regular: a pipe or a device has no known end, so it is refused
/// without waiting. A file larger than `most` bytes is refused before it is read, and one that
/// grows past `most` during the read is refused too. Errors: not_found when the file doesn't exist,
/// file_failed otherwise; both name the path.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path,
                                            std::uint64_t most = largest_file);
[[nodiscard]] Result<std::vector<std::byte>> read_bytes(const std::filesystem::path& path,
                                                        std::uint64_t most = largest_file);

/// Judges a file by its attributes.
using FileCheck = std::function<Status(const os::FileAttributes&)>;
/// read_text() of a file that `check` accepts; it gets the attributes of the open file, so that no
/// other file can take its place in between. Errors: also those of `check`.
[[nodiscard]] Result<std::string> read_text_if(const std::filesystem::path& path,
                                               std::uint64_t most, const FileCheck& check);

/// Writes to "<folder of path>/.<process>.<number>.tmp" and renames it to `path`: a reader sees the
/// whole old file or the whole new one. A failed write leaves nothing behind. A symbolic link at
/// `path` is replaced, not followed. `mode` is the new file's permission bits before umask. Errors:
/// file_failed, with errno.
[[nodiscard]] Status write_atomic(const std::filesystem::path& path,
                                  std::span<const std::byte> bytes, unsigned mode = 0644);
[[nodiscard]] Status write_atomic(const std::filesystem::path& path, std::string_view text,
                                  unsigned mode = 0644);

/// What a path names once symbolic links are followed, also if that doesn't exist.
[[nodiscard]] std::filesystem::path follow_links(std::filesystem::path path);

/// Writes a result to the file that a user has named: makes missing folders, follows symbolic
/// links, and writes a device or a pipe in place. A regular file is replaced by write_atomic().
/// Errors: file_failed.
[[nodiscard]] Status write_result(const std::filesystem::path& path,
                                  std::span<const std::byte> bytes);
[[nodiscard]] Status write_result(const std::filesystem::path& path, std::string_view text);

/// Makes a folder and its missing parents, for this user alone (mode 0700, before umask). What
/// exists stays as it is, also if it isn't a folder. Returns 0 or an errno value.
[[nodiscard]] int make_folders(const std::filesystem::path& path);

/// Writes all bytes to an open file, also when the system takes them in pieces. Returns 0 or an
/// errno value.
[[nodiscard]] int write_all(int file, std::span<const std::byte> bytes) noexcept;

/// Converts an errno value to a Native, with its symbolic name ("ENOSPC").
Native native_from_errno(int error_number);

/// Converts an errno value to an Error: "`doing` fails: <strerror> (`path`)."
tl::unexpected<Error> fail_from_errno(std::string_view doing, const std::filesystem::path& path,
                                      int error_number);

}  // namespace LODE_NAMESPACE
