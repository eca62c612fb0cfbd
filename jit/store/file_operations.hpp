// FileOperations: the system calls of the cache's folder, all of them, so that a test can put
// another file system in their place.
//
// What the layers above rely on is what NFS gives too, whose clients remember attributes and names
// for a while and whose calls may report a failure after they have succeeded:
//
//   - a file that has its final name never changes but in its modification time, so that an old
//     attribute never belongs to other content;
//   - the attributes of a file that has just been opened are those of the file (close-to-open);
//   - everything else may be out of date, gone (ESTALE) or impossible (ENOLCK).
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sys/stat.h>
#include <sys/types.h>

namespace LODE_NAMESPACE::cache {

/// Each function is one system call: -1, with errno set, on failure. Thread-safe.
class FileOperations {
public:
    FileOperations() = default;
    virtual ~FileOperations() = default;
    FileOperations(const FileOperations&) = delete;
    FileOperations& operator=(const FileOperations&) = delete;

    /// The system's own.
    [[nodiscard]] static const FileOperations& system() noexcept;

    /// Opens a path below `folder`, without following any link on the way or leaving the folder.
    [[nodiscard]] virtual int open(int folder, const std::string& name, int flags,
                                   mode_t mode) const noexcept;
    /// Closes a file that was written to.
    [[nodiscard]] virtual int close(int file) const noexcept;
    /// fstat()
    [[nodiscard]] virtual int attributes(int file, struct stat& status) const noexcept;
    /// fstatat() of a name, not of what a link leads to.
    [[nodiscard]] virtual int attributes_at(int folder, const std::string& name,
                                            struct stat& status) const noexcept;
    [[nodiscard]] virtual ssize_t read(int file, std::span<std::byte> into) const noexcept;
    [[nodiscard]] virtual ssize_t write(int file, std::span<const std::byte> bytes) const noexcept;
    [[nodiscard]] virtual int change_mode(int file, mode_t mode) const noexcept;
    /// Sets the modification time to now.
    [[nodiscard]] virtual int touch(int file) const noexcept;
    [[nodiscard]] virtual int rename(int from_folder, const std::string& from, int to_folder,
                                     const std::string& to) const noexcept;
    [[nodiscard]] virtual int link(int from_folder, const std::string& from, int to_folder,
                                   const std::string& to) const noexcept;
    /// unlinkat() with its flags.
    [[nodiscard]] virtual int unlink(int folder, const std::string& name, int flags) const noexcept;
    [[nodiscard]] virtual int make_folder(int folder, const std::string& name,
                                          mode_t mode) const noexcept;
    /// Takes the lock of a whole file (flock) without waiting.
    [[nodiscard]] virtual int lock_file(int file) const noexcept;
    /// Takes the lock of one byte (F_OFD_SETLK) without waiting.
    [[nodiscard]] virtual int lock_byte(int file, std::int64_t offset) const noexcept;
};

}  // namespace LODE_NAMESPACE::cache
