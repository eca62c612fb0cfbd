#include "jit/files/file_state.hpp"

#include "base/descriptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace LODE_NAMESPACE {
namespace {

std::int64_t to_ns(const timespec& time) noexcept {
    return time.tv_sec * ns_per_second + time.tv_nsec;
}

/// Reads from start to end, up to the largest size; returns an errno value, 0 for success.
int read_whole(int file, std::uint64_t expected, std::string& text) {
    std::size_t filled = 0;
    text.resize(static_cast<std::size_t>(expected) + 1);
    for (;;) {
        if (filled == text.size()) text.resize(text.size() * 2);
        const ssize_t got =
            ::pread(file, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno;
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
        if (filled > largest_source_file) return EFBIG;
    }
    text.resize(filled);
    return 0;
}

}  // namespace

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

FileStamp stamp_of(const struct stat& status) noexcept {
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            to_ns(status.st_mtim), to_ns(status.st_ctim)};
}

std::optional<FileStamp> stamp_of(const std::string& path) noexcept {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return stamp_of(status);
}

bool same_file(const FileStamp& a, const FileStamp& b) noexcept {
    return a.device == b.device && a.inode == b.inode;
}

std::int64_t file_clock_now() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return to_ns(now);
}

bool is_settled(const FileStamp& before, const FileStamp& after, std::int64_t clock) noexcept {
    // A stamp in whole seconds may come from a file system with a clock that ticks every two.
    const std::int64_t margin = after.changed_ns % ns_per_second == 0 ? 2 * ns_per_second : 0;
    // Every later edit has a stamp of the clock's time or more.
    return before == after && std::max(after.modified_ns, after.changed_ns) < clock - margin;
}

FileOpening read_file_content(const std::string& path) {
    const std::int64_t start = file_clock_now();
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) return {std::nullopt, errno, errno == ENXIO};
    struct stat before {};
    if (::fstat(file.get(), &before) != 0) return {std::nullopt, errno, false};
    if (!S_ISREG(before.st_mode)) {
        return {std::nullopt, S_ISDIR(before.st_mode) ? EISDIR : EINVAL, true};
    }
    const auto size = static_cast<std::uint64_t>(before.st_size);
    if (size > largest_source_file) return {std::nullopt, EFBIG, false};

    FileContent content;
    if (const int error = read_whole(file.get(), size, content.text); error != 0) {
        return {std::nullopt, error, false};
    }
    struct stat after {};
    if (::fstat(file.get(), &after) != 0) return {std::nullopt, errno, false};
    content.stamp = stamp_of(after);
    content.settled = is_settled(stamp_of(before), content.stamp, start) &&
                      content.stamp.size == content.text.size() && keeps_stamps(file.get());
    return {std::move(content), 0, false};
}

std::optional<Digest> digest_of_open_file(int file) {
    std::vector<std::byte> part(std::size_t{1} << 20);
    Hasher hasher;
    for (off_t at = 0;;) {
        const ssize_t got = ::pread(file, part.data(), part.size(), at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return hasher.finish();
        hasher.update(std::span(part).first(static_cast<std::size_t>(got)));
        at += got;
    }
}

std::optional<FileDigest> read_file_digest(const std::string& path) {
    const std::int64_t start = file_clock_now();
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat before {};
    struct stat after {};
    if (!file || ::fstat(file.get(), &before) != 0 || !S_ISREG(before.st_mode)) return std::nullopt;
    const auto content = digest_of_open_file(file.get());
    if (!content || ::fstat(file.get(), &after) != 0) return std::nullopt;
    const FileStamp stamp = stamp_of(after);
    return FileDigest{*content, stamp,
                      is_settled(stamp_of(before), stamp, start) && keeps_stamps(file.get())};
}

}  // namespace LODE_NAMESPACE
