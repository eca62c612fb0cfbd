#include "base/os/file.hpp"

#include "base/os/linux/attributes.hpp"
#include "base/os/linux/newer_libc.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace LODE_NAMESPACE {

bool os::close_file(int file) noexcept {
    return ::close(file) == 0;
}

namespace os {
namespace {

constexpr std::pair<FileKind, mode_t> kinds[] = {
    {FileKind::regular, S_IFREG}, {FileKind::folder, S_IFDIR}, {FileKind::link, S_IFLNK},
    {FileKind::pipe, S_IFIFO},    {FileKind::device, S_IFCHR}, {FileKind::device, S_IFBLK},
    {FileKind::socket, S_IFSOCK}, {FileKind::unknown, 0},
};

std::int64_t to_ns(const timespec& time) noexcept {
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

/// Converts the result of a stat().
bool take(int result, const struct stat& status, FileAttributes& attributes) noexcept {
    if (result == 0) attributes = attributes_of(status);
    return result == 0;
}

template <class Call>
auto repeated(const Call& call) noexcept {
    auto result = call();
    while (result < 0 && errno == EINTR)
        result = call();
    return result;
}

}  // namespace

FileAttributes attributes_of(const struct stat& status) noexcept {
    FileAttributes attributes;
    attributes.device = status.st_dev;
    attributes.number = status.st_ino;
    attributes.size = static_cast<std::uint64_t>(status.st_size);
    attributes.links = status.st_nlink;
    attributes.modified_ns = to_ns(status.st_mtim);
    attributes.changed_ns = to_ns(status.st_ctim);
    attributes.owner = status.st_uid;
    attributes.permissions = static_cast<std::uint16_t>(status.st_mode & 07777U);
    const auto* const known =
        std::ranges::find(kinds, status.st_mode & S_IFMT, &std::pair<FileKind, mode_t>::second);
    if (known != std::end(kinds)) attributes.kind = known->first;
    return attributes;
}

struct stat status_of(const FileAttributes& attributes) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    const auto time = [](std::int64_t ns) { return timespec{ns / second, ns % second}; };
    struct stat status {};
    status.st_dev = attributes.device;
    status.st_ino = attributes.number;
    status.st_size = static_cast<off_t>(attributes.size);
    status.st_nlink = static_cast<nlink_t>(attributes.links);
    status.st_mtim = time(attributes.modified_ns);
    status.st_ctim = time(attributes.changed_ns);
    status.st_uid = attributes.owner;
    const auto* const known =
        std::ranges::find(kinds, attributes.kind, &std::pair<FileKind, mode_t>::first);
    status.st_mode = attributes.permissions | (known != std::end(kinds) ? known->second : 0);
    return status;
}

int open_flags(Open flags) noexcept {
    constexpr std::pair<Open, int> all[] = {
        {Open::writing, O_WRONLY},   {Open::updating, O_RDWR},    {Open::create, O_CREAT},
        {Open::only_new, O_EXCL},    {Open::truncate, O_TRUNC},   {Open::append, O_APPEND},
        {Open::no_link, O_NOFOLLOW}, {Open::folder, O_DIRECTORY}, {Open::place, O_PATH},
    };
    int result = O_CLOEXEC | (has(flags, Open::waiting) ? 0 : O_NONBLOCK);
    for (const auto& [flag, bit] : all)
        result |= has(flags, flag) ? bit : 0;
    return result;
}

UserId user_id() noexcept {
    return ::geteuid();
}

Descriptor open_file(const std::filesystem::path& path, Open flags, unsigned permissions) noexcept {
    return Descriptor(::open(path.c_str(), open_flags(flags) | O_NOCTTY, permissions));
}

bool is_open(int file) noexcept {
    return ::fcntl(file, F_GETFD) >= 0;
}

bool may_update(int file) noexcept {
    return (::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR;
}

Descriptor duplicate(int file) noexcept {
    return Descriptor(::fcntl(file, F_DUPFD_CLOEXEC, 0));
}

std::filesystem::path path_of(int file) {
    return fmt::format("/proc/self/fd/{}", file);
}

bool attributes_of(int file, FileAttributes& attributes) noexcept {
    struct stat status {};
    return take(::fstat(file, &status), status, attributes);
}

bool attributes_of(const std::filesystem::path& path, FileAttributes& attributes) noexcept {
    struct stat status {};
    return take(::stat(path.c_str(), &status), status, attributes);
}

bool attributes_below(int folder, const std::string& path, FileAttributes& attributes) noexcept {
    struct stat status {};
    return take(::fstatat(folder, path.c_str(), &status, AT_EMPTY_PATH), status, attributes);
}

bool attributes_of_link(const std::filesystem::path& path, FileAttributes& attributes) noexcept {
    struct stat status {};
    return take(::lstat(path.c_str(), &status), status, attributes);
}

std::ptrdiff_t read_file(int file, std::span<std::byte> into) noexcept {
    return repeated([&] { return ::read(file, into.data(), into.size()); });
}

std::ptrdiff_t read_file_at(int file, std::span<std::byte> into, std::uint64_t offset) noexcept {
    const auto at = static_cast<off_t>(offset);
    return repeated([&] { return ::pread(file, into.data(), into.size(), at); });
}

std::ptrdiff_t write_file(int file, std::span<const std::byte> bytes) noexcept {
    return repeated([&] { return ::write(file, bytes.data(), bytes.size()); });
}

std::ptrdiff_t write_file_at(int file, std::span<const std::byte> bytes,
                             std::uint64_t offset) noexcept {
    const auto at = static_cast<off_t>(offset);
    return repeated([&] { return ::pwrite(file, bytes.data(), bytes.size(), at); });
}

bool resize_file(int file, std::uint64_t bytes) noexcept {
    return ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
}

bool flush_file(int file) noexcept {
    return ::fsync(file) == 0 || errno == EINVAL || errno == EROFS;
}

bool lock_file(int file) noexcept {
    return repeated([&] { return ::flock(file, LOCK_EX); }) == 0;
}

bool make_folder(const std::filesystem::path& path) noexcept {
    return ::mkdir(path.c_str(), S_IRWXU) == 0;
}

bool may_list_folder(const std::filesystem::path& path) noexcept {
    return ::access(path.c_str(), R_OK | X_OK) == 0;
}

bool may_execute(const std::filesystem::path& path) noexcept {
    return ::access(path.c_str(), X_OK) == 0;
}

bool list_folder(Descriptor folder,
                 const std::function<void(int, const std::string&, bool)>& visit) {
    if (!folder) return false;
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(folder.get()), &::closedir);
    if (!listing) return false;
    const int number = folder.release();
    while (const dirent* item = ::readdir(listing.get())) {
        const std::string_view name = item->d_name;
        if (name != "." && name != "..") visit(number, item->d_name, item->d_type == DT_DIR);
    }
    return true;
}

bool keeps_stamps(int file) noexcept {
    constexpr std::array<std::uint32_t, 8> known = {
        0xEF53,      // ext2, ext3, ext4
        0x58465342,  // XFS
        0x9123683E,  // Btrfs
        0x01021994,  // tmpfs
        0x794C7630,  // overlayfs
        0xF2F52010,  // F2FS
        0x2FC12FC1,  // ZFS
        0xCA451A4E,  // bcachefs
    };
    struct statfs status {};
    if (::fstatfs(file, &status) != 0) return false;
    return std::ranges::find(known, static_cast<std::uint32_t>(status.f_type)) != known.end();
}

std::int64_t file_clock_now() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return to_ns(now);
}

bool is_stale(int error_number) noexcept {
    return error_number == ESTALE;
}

const char* error_name(int error_number) noexcept {
    return name_of_errno(error_number);
}

}  // namespace os
}  // namespace LODE_NAMESPACE
