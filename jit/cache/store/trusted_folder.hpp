// TrustedFolder: file operations below one folder that only its owner can have filled.
//
// What the cache reads from disk becomes code on the device, so the folder must belong to the
// process's user and nobody else may write to it; files below it are opened without following any
// symbolic link, and must be regular files of the same owner that nobody else may write. Writing
// and removing follow no link either, and a link in the place of a folder that is written to goes.
#pragma once

#include "jit/cache/store/tier.hpp"

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

#include <sys/types.h>

namespace lode::cache {

/// A file descriptor, closed with the object. Move-only.
class Descriptor {
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int get() const noexcept { return number_; }
    /// Closes now; false, and errno, when that reports a failure.
    bool close() noexcept;
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

/// Thread-safe; every path is relative to the folder and holds no "..".
class TrustedFolder {
public:
    /// Opens the folder; with `create`, makes it and its parents first (mode 0700).
    /// Errors: not_found without `create`; file_failed when it can't be opened or made, is a
    /// symbolic link, belongs to somebody else or can be written by somebody else. Without
    /// `create` it may belong to root too.
    [[nodiscard]] static Result<TrustedFolder> open(const std::filesystem::path& path, bool create);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// What reading one file gave.
    struct Read {
        enum class State : std::uint8_t {
            absent,
            untrusted,  ///< A link, a foreign owner, not a regular file: never use it.
            present
        };
        State state = State::absent;
        Record record;
    };

    /// Reads a whole file. With `restamp`, a modification time that isn't within the last hour is
    /// set to now. Errors: file_failed.
    [[nodiscard]] Result<Read> read(const std::string& name, bool restamp) const;

    /// Writes a temporary file in `temporary` and renames it over `name`; makes folders that are
    /// missing. Readers see the old file or the new one, whole. No fsync: the checksums of a
    /// sealed file turn what a power cut leaves into a miss. Errors: file_failed.
    [[nodiscard]] Status replace(const std::string& name, const std::string& temporary,
                                 std::span<const std::byte> bytes) const;

    /// Removes a file or a link; fine if there is none. Errors: file_failed.
    [[nodiscard]] Status remove(const std::string& name) const;

    /// Removes the file that `only` identifies and no other: moved aside to `aside` first and put
    /// back if it turns out to have been replaced. Errors: file_failed.
    [[nodiscard]] Status remove_if(const std::string& name, const FileIdentity& only,
                                   const std::string& aside) const;

    /// Opens a file for reading and writing, made if need be.
    [[nodiscard]] Result<Descriptor> open_shared(const std::string& name, int extra_flags) const;

    /// Calls `visit(file name, identity)` for every regular file directly in a folder; does nothing
    /// when there is no such folder. Errors: file_failed.
    [[nodiscard]] Status list(
        const std::string& folder,
        const std::function<void(const std::string&, const FileIdentity&)>& visit) const;

    /// The names of the folders directly in a folder.
    [[nodiscard]] Result<std::vector<std::string>> folders(const std::string& folder) const;

private:
    TrustedFolder(std::filesystem::path path, Descriptor folder, uid_t owner)
        : path_(std::move(path)), folder_(std::move(folder)), owner_(owner) {}
    [[nodiscard]] int open_inside(const std::string& name, int flags) const noexcept;
    /// Makes the folders on the way to `name`; a link in the place of one goes.
    [[nodiscard]] Status make_parents(const std::string& name) const;
    /// The folder that `name` lies in, with no link on the way; empty, and errno, without one.
    [[nodiscard]] Descriptor open_folder_of(const std::string& name) const noexcept;

    std::filesystem::path path_;
    Descriptor folder_;
    uid_t owner_;
};

/// 16 hexadecimal digits that no other caller gets.
std::string random_name();

}  // namespace lode::cache
