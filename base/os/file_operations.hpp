// FileOperations: the system calls on files below a folder that is open, all of them, so that a
// test can put another file system in their place.
//
// What the cache relies on is what NFS gives too, whose clients remember attributes and names for a
// while and whose calls may report a failure after they have succeeded:
//
//   - a file that has its final name never changes but in its modification time, so that an old
//     attribute never belongs to other content;
//   - the attributes of a file that has just been opened are those of the file (close-to-open);
//   - everything else may be out of date, gone (ESTALE) or impossible (ENOLCK).
#pragma once

#include "base/os/file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace LODE_NAMESPACE::os {

/// Each function is one system call: -1, with errno set, on failure. Thread-safe.
class FileOperations {
public:
    FileOperations() = default;
    virtual ~FileOperations() = default;
    FileOperations(const FileOperations&) = delete;
    FileOperations& operator=(const FileOperations&) = delete;

    /// The system's own.
    [[nodiscard]] static const FileOperations& system() noexcept;

    /// Opens a path below `folder`, without following any link on the way or leaving the folder. A
    /// new file is for its owner alone.
    [[nodiscard]] virtual int open(int folder, const std::string& name, Open flags) const noexcept;
    /// Closes a file that was written to.
    [[nodiscard]] virtual int close(int file) const noexcept;
    [[nodiscard]] virtual int attributes(int file, FileAttributes& attributes) const noexcept;
    /// The attributes of a name, not of what a link leads to.
    [[nodiscard]] virtual int attributes_at(int folder, const std::string& name,
                                            FileAttributes& attributes) const noexcept;
    [[nodiscard]] virtual std::ptrdiff_t read(int file, std::span<std::byte> into) const noexcept;
    [[nodiscard]] virtual std::ptrdiff_t write(int file,
                                               std::span<const std::byte> bytes) const noexcept;
    /// Gives a file to its owner alone, whatever the umask or another library chose.
    [[nodiscard]] virtual int make_private(int file) const noexcept;
    /// Sets the modification time to now.
    [[nodiscard]] virtual int touch(int file) const noexcept;
    [[nodiscard]] virtual int rename(int from_folder, const std::string& from, int to_folder,
                                     const std::string& to) const noexcept;
    [[nodiscard]] virtual int link(int from_folder, const std::string& from, int to_folder,
                                   const std::string& to) const noexcept;
    [[nodiscard]] virtual int remove(int folder, const std::string& name) const noexcept;
    [[nodiscard]] virtual int remove_folder(int folder, const std::string& name) const noexcept;
    /// Makes a folder for its owner alone.
    [[nodiscard]] virtual int make_folder(int folder, const std::string& name) const noexcept;
    /// Takes the lock of a whole file without waiting.
    [[nodiscard]] virtual int lock_file(int file) const noexcept;
    /// Takes the lock of one byte without waiting.
    [[nodiscard]] virtual int lock_byte(int file, std::int64_t offset) const noexcept;
};

}  // namespace LODE_NAMESPACE::os
