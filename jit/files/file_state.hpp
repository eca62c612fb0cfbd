// FileState: what one look at a path found, in the terms in which two looks are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

namespace lode {

inline constexpr std::int64_t ns_per_second = 1'000'000'000;

/// What the file system tells of a file without reading it: which file it is, and when it was last
/// touched. Two equal stamps stand for the same content only where the first was settled.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  ///< Of the inode: no program can set it.

    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

[[nodiscard]] FileStamp stamp_of(const struct stat& facts) noexcept;

/// The stamp of a regular file; nullopt when there is none.
[[nodiscard]] std::optional<FileStamp> stamp_of(const std::string& path) noexcept;

/// Whether two stamps name the same file, whatever became of its content.
[[nodiscard]] bool same_file(const FileStamp& a, const FileStamp& b) noexcept;

/// Now, by the clock that file stamps are made with, in nanoseconds.
[[nodiscard]] std::int64_t file_clock_now() noexcept;

/// A regular file as it was read: the bytes and the stamp belong together.
struct FileContent {
    std::string text;
    FileStamp stamp;
    /// Whether every later edit is sure to change the stamp: the stamp is older than the read by
    /// more than a tick of the file system's clock, and the file system keeps such stamps itself
    /// (see docs/cache-format.md, "When a stamp is enough").
    bool settled = false;
};

/// What opening a path came to.
struct FileOpening {
    std::optional<FileContent> content;  ///< Of a regular file.
    int error = 0;                       ///< errno where there is no content; 0 with content.
    bool is_irregular = false;           ///< There is something, but no regular file.
};

/// The largest file that a compiler is given, in bytes.
inline constexpr std::uint64_t largest_source_file = std::uint64_t{1} << 30;

/// Reads a regular file as a whole. Never blocks on a FIFO or a device: what isn't a regular file
/// isn't read (EISDIR for a folder, EINVAL for the rest); EFBIG past largest_source_file.
[[nodiscard]] FileOpening read_file_content(const std::string& path);

}  // namespace lode
