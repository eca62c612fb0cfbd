// TrustedFolder: file operations below a folder that only its owner can write.
//
// What the cache reads from disk becomes code on the device, so the folder must belong to the
// process's user and no other user may write to it. Files below it are opened without following any
// symbolic link, and must be regular files of the same owner that no other user may write. Writing
// and removing follow no link either, and a link in the place of a folder to be written is removed.
#pragma once

#include "base/os/descriptor.hpp"
#include "base/os/file_operations.hpp"
#include "jit/store/tier.hpp"

#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// Thread-safe; all paths are relative to the folder and contain no "..".
class TrustedFolder {
public:
    /// Opens the folder; with `create`, first makes it and its parents (mode 0700). Errors:
    /// not_found without `create`; file_failed when it can't be opened or made, is a symbolic link,
    /// or belongs to or can be written by another user. Without `create` it may also belong to
    /// root. `operations` must outlive the folder.
    [[nodiscard]] static Result<TrustedFolder> open(
        const std::filesystem::path& path, bool create,
        const os::FileOperations& operations = os::FileOperations::system());

    [[nodiscard]] const os::FileOperations& operations() const noexcept { return *operations_; }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// The result of reading one file.
    struct Read {
        enum class State : std::uint8_t {
            absent,
            untrusted,  ///< A link, another owner or not a regular file: never used.
            present
        };
        State state = State::absent;
        Record record;
    };

    /// Reads a whole file. With `restamp`, a modification time outside the last hour is set to now.
    /// Errors: file_failed.
    [[nodiscard]] Result<Read> read(const std::string& name, bool restamp) const;

    /// Writes a temporary file in `temporary` and renames it to `name`; makes missing folders.
    /// Readers see the whole old file or the whole new one. No fsync: the checksums of a sealed
    /// file turn a file damaged by a power cut into a miss. Errors: file_failed.
    [[nodiscard]] Status replace(const std::string& name, const std::string& temporary,
                                 std::span<const std::byte> bytes) const;

    /// Opens a file for reading; empty if there is none that can be trusted. Errors: file_failed.
    [[nodiscard]] Result<Descriptor> open_trusted(const std::string& name) const;

    /// Renames a file that another library wrote below the folder, as replace() does; readable by
    /// its owner alone from then on. Errors: file_failed.
    [[nodiscard]] Status adopt(const std::string& temporary, const std::string& name) const;

    /// Sets a file's modification time to now; does nothing if there is none.
    void touch(const std::string& name) const noexcept;

    /// Removes a file or a link; does nothing if there is none. Errors: file_failed.
    [[nodiscard]] Status remove(const std::string& name) const;

    /// Removes a folder; does nothing if there is none, or if it isn't empty. Errors: file_failed.
    [[nodiscard]] Status remove_folder(const std::string& name) const;

    /// Removes the file that `only` identifies and no other: moves it into `aside` first, and puts
    /// it back if it turns out to be a replacement. Errors: file_failed.
    [[nodiscard]] Status remove_if(const std::string& name, const FileIdentity& only,
                                   const std::string& aside) const;

    /// Opens a file for reading and writing; creates it if needed.
    [[nodiscard]] Result<Descriptor> open_shared(const std::string& name,
                                                 os::Open extra_flags = os::Open::updating) const;

    /// Calls `visit(file name, identity)` for every regular file directly in a folder, except those
    /// that NFS keeps because they were removed while they were open; does nothing
    /// when there is no such folder. Errors: file_failed.
    [[nodiscard]] Status list(
        const std::string& folder,
        const std::function<void(const std::string&, const FileIdentity&)>& visit) const;

    /// The names of the folders directly in a folder.
    [[nodiscard]] Result<std::vector<std::string>> folders(const std::string& folder) const;

private:
    TrustedFolder(std::filesystem::path path, Descriptor folder, os::UserId owner,
                  const os::FileOperations& operations)
        : path_(std::move(path)),
          folder_(std::move(folder)),
          owner_(owner),
          operations_(&operations) {}
    /// One attempt of replace().
    [[nodiscard]] Status try_replace(const std::string& name, const std::string& temporary,
                                     std::span<const std::byte> bytes) const;
    /// Renames a file of this process; makes missing folders.
    [[nodiscard]] Status rename_to(const std::string& temporary, const std::string& name) const;
    /// Opens a file; makes missing folders. Errors: file_failed.
    [[nodiscard]] Result<Descriptor> open_or_make(const std::string& name, os::Open flags) const;
    /// One attempt of read(). On failure `problem` is the system call's errno; otherwise it stays.
    [[nodiscard]] Read try_read(const std::string& name, bool restamp, int& problem) const;
    [[nodiscard]] bool is_gone(const std::string& name) const noexcept;
    [[nodiscard]] Descriptor open_inside(const std::string& name,
                                         os::Open flags = os::Open::reading) const noexcept;
    /// Makes the parent folders of `name`; a link in the place of one is removed.
    [[nodiscard]] Status make_parents(const std::string& name) const;
    /// The folder of `name`, without any link on the way; on failure empty, with errno set.
    [[nodiscard]] Descriptor open_folder_of(const std::string& name) const noexcept;

    std::filesystem::path path_;
    Descriptor folder_;
    os::UserId owner_;
    const os::FileOperations* operations_;
};

FileIdentity identity_of(const os::FileAttributes& attributes) noexcept;

/// 16 hexadecimal digits, different for every call.
std::string random_name();

}  // namespace LODE_NAMESPACE::cache
