// Files and folders of the operating system.
//
// What fails returns -1, false or nothing, and sets errno. Interrupted calls are repeated.
#pragma once

#include "base/os/descriptor.hpp"

#include <lode/base/api.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace LODE_NAMESPACE::os {

/// How a file is opened: for reading unless a flag says otherwise.
enum class Open : unsigned {
    reading = 0,
    writing = 1,
    updating = 2,  ///< Reading and writing.
    create = 4,
    only_new = 8,  ///< With create: fails if the file exists.
    truncate = 16,
    append = 32,
    no_link = 64,   ///< Fails if the path names a symbolic link.
    folder = 128,   ///< Fails unless it is a folder.
    place = 256,    ///< Only as the start of paths below it; needs no right to read.
    waiting = 512,  ///< Opening and writing wait for the other end of a pipe.
};
constexpr Open operator|(Open a, Open b) noexcept {
    return static_cast<Open>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Open flags, Open flag) noexcept {
    return (static_cast<unsigned>(flags) & static_cast<unsigned>(flag)) != 0;
}

enum class FileKind : std::uint16_t { regular, folder, link, pipe, device, socket, unknown };

/// A user of the system; 0 is the administrator.
using UserId = std::uint32_t;
/// The user whose rights this process has.
[[nodiscard]] UserId user_id() noexcept;

/// Permission bits of other users than the owner.
inline constexpr unsigned others_may_write = 022;
inline constexpr unsigned others_may_do_anything = 077;

/// What the file system says about a file.
struct FileAttributes {
    std::uint64_t device = 0;
    std::uint64_t number = 0;  ///< Identifies the file on its device.
    std::uint64_t size = 0;
    std::uint64_t links = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  ///< When the attributes changed; programs can't set it.
    UserId owner = 0;
    std::uint16_t permissions = 0;  ///< Such as 0644.
    FileKind kind = FileKind::unknown;
};

/// Opens a file, which no program that this one starts gets. Never waits for the other end of a
/// pipe, unless with Open::waiting. `permissions` are those of a new file, before umask.
[[nodiscard]] Descriptor open_file(const std::filesystem::path& path, Open flags = Open::reading,
                                   unsigned permissions = 0600) noexcept;

[[nodiscard]] bool is_open(int file) noexcept;
/// Whether what is open can be read and written.
[[nodiscard]] bool may_update(int file) noexcept;
/// Another descriptor of what is open.
[[nodiscard]] Descriptor duplicate(int file) noexcept;
/// A path under which this process can open what is open, whatever happens to its name.
[[nodiscard]] std::filesystem::path path_of(int file);

[[nodiscard]] bool attributes_of(int file, FileAttributes& attributes) noexcept;
/// The attributes of what a path leads to.
[[nodiscard]] bool attributes_of(const std::filesystem::path& path,
                                 FileAttributes& attributes) noexcept;
/// The same, of a path below an open folder; of the folder itself if the path is empty.
[[nodiscard]] bool attributes_below(int folder, const std::string& path,
                                    FileAttributes& attributes) noexcept;
/// The attributes of a path itself, even if it is a symbolic link.
[[nodiscard]] bool attributes_of_link(const std::filesystem::path& path,
                                      FileAttributes& attributes) noexcept;

/// One read at the file's position; 0 at the end.
[[nodiscard]] std::ptrdiff_t read_file(int file, std::span<std::byte> into) noexcept;
/// One read at an offset.
[[nodiscard]] std::ptrdiff_t read_file_at(int file, std::span<std::byte> into,
                                          std::uint64_t offset) noexcept;
/// One write, perhaps of a part.
[[nodiscard]] std::ptrdiff_t write_file(int file, std::span<const std::byte> bytes) noexcept;
[[nodiscard]] std::ptrdiff_t write_file_at(int file, std::span<const std::byte> bytes,
                                           std::uint64_t offset) noexcept;
[[nodiscard]] bool resize_file(int file, std::uint64_t bytes) noexcept;
/// Waits until what was written is on the disk, where there is a disk.
[[nodiscard]] bool flush_file(int file) noexcept;
/// Waits for the lock of a whole file; it ends with the descriptor.
[[nodiscard]] bool lock_file(int file) noexcept;

/// Makes a folder for this user alone.
[[nodiscard]] bool make_folder(const std::filesystem::path& path) noexcept;
[[nodiscard]] bool may_list_folder(const std::filesystem::path& path) noexcept;
[[nodiscard]] bool may_execute(const std::filesystem::path& path) noexcept;
/// Calls visit(the open folder, name, whether it is certainly a folder) for each item of an open
/// folder.
[[nodiscard]] bool list_folder(Descriptor folder,
                               const std::function<void(int, const std::string&, bool)>& visit);

/// Whether the kernel stamps every change of an open file immediately by its own clock. Network
/// file systems use caches and another machine's clock; disk images may carry any stamps.
[[nodiscard]] bool keeps_stamps(int file) noexcept;
/// The current time of the clock that makes file stamps, in nanoseconds. It ticks every 1 to
/// 50 ms, so it lags the system's clock by up to a tick.
[[nodiscard]] std::int64_t file_clock_now() noexcept;

/// Whether an error says that a server has dropped an open file (ESTALE).
[[nodiscard]] bool is_stale(int error_number) noexcept;
/// "ENOSPC"; nullptr if the number has no name.
[[nodiscard]] const char* error_name(int error_number) noexcept;

}  // namespace LODE_NAMESPACE::os
