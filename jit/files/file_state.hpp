// FileState: the result of looking at a path once, in a form that can be compared with a later
// look.
#pragma once

#include "base/os/file.hpp"

#include <lode/base/digest.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace LODE_NAMESPACE {

inline constexpr std::int64_t ns_per_second = 1'000'000'000;

/// What the file system reports about a file without reading it: its identity, and the times of its
/// last changes. Equal stamps imply equal content only if the first one was settled.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  ///< The last change of the inode: programs can't set it.

    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

[[nodiscard]] FileStamp stamp_of(const os::FileAttributes& file) noexcept;

/// The stamp of a regular file; nullopt if there is none.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::filesystem::path& path) noexcept;

/// Whether two stamps identify the same file, whatever its content.
[[nodiscard]] bool same_file(const FileStamp& a, const FileStamp& b) noexcept;

/// Whether every later edit changes the stamp of a file that was read: the stamps before and after
/// the read, and the time of the clock that makes stamps before it.
[[nodiscard]] bool is_settled(const FileStamp& before, const FileStamp& after,
                              std::int64_t clock) noexcept;

/// The content of a regular file, with the stamp that belongs to it.
struct FileContent {
    std::string text;
    FileStamp stamp;
    /// Whether every later edit changes the stamp: is_settled() and os::keeps_stamps() (see
    /// docs/dev/cache-format.md, "When a stamp is enough").
    bool settled = false;
};

/// The result of opening a path.
struct FileOpening {
    std::optional<FileContent> content;  ///< The content of a regular file.
    int error = 0;                       ///< errno if there is no content; 0 with content.
    bool is_irregular = false;           ///< Something exists there, but it isn't a regular file.
};

/// The largest file that is passed to a compiler, in bytes.
inline constexpr std::uint64_t largest_source_file = std::uint64_t{1} << 30;

/// Reads a whole regular file. Never blocks on a FIFO or a device: anything but a regular file
/// isn't read (EISDIR for a folder, EINVAL otherwise). EFBIG above largest_source_file.
[[nodiscard]] FileOpening read_file_content(const std::filesystem::path& path);

/// The digest of a whole open file; nullopt if it can't be read.
[[nodiscard]] std::optional<Digest> digest_of_open_file(int file);

/// The digest of a regular file, for one that may be large.
struct FileDigest {
    Digest content = {};
    FileStamp stamp = {};
    bool settled = false;  ///< As FileContent::settled.
};

/// Reads a whole regular file in parts; nullopt if it can't be read.
[[nodiscard]] std::optional<FileDigest> read_file_digest(const std::filesystem::path& path);

}  // namespace LODE_NAMESPACE
