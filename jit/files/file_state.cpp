#include "jit/files/file_state.hpp"

#include "base/os/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {
namespace {

/// Reads from start to end, up to the largest size; returns an errno value, 0 for success.
int read_whole(int file, std::uint64_t expected, std::string& text) {
    std::size_t filled = 0;
    text.resize(static_cast<std::size_t>(expected) + 1);
    for (;;) {
        if (filled == text.size()) text.resize(text.size() * 2);
        const auto room = std::as_writable_bytes(std::span(text)).subspan(filled);
        const auto got = os::read_file_at(file, room, filled);
        if (got < 0) return errno;
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
        if (filled > largest_source_file) return EFBIG;
    }
    text.resize(filled);
    return 0;
}

}  // namespace

FileStamp stamp_of(const os::FileAttributes& file) noexcept {
    return {file.device, file.number, file.size, file.modified_ns, file.changed_ns};
}

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) noexcept {
    os::FileAttributes file;
    if (!os::attributes_of(path, file) || file.kind != os::FileKind::regular) return std::nullopt;
    return stamp_of(file);
}

bool same_file(const FileStamp& a, const FileStamp& b) noexcept {
    return a.device == b.device && a.inode == b.inode;
}

bool is_settled(const FileStamp& before, const FileStamp& after, std::int64_t clock) noexcept {
    // A stamp in whole seconds may come from a file system with a clock that ticks every two.
    const std::int64_t margin = after.changed_ns % ns_per_second == 0 ? 2 * ns_per_second : 0;
    // Every later edit has a stamp of the clock's time or more.
    return before == after && std::max(after.modified_ns, after.changed_ns) < clock - margin;
}

FileOpening read_file_content(const std::filesystem::path& path) {
    const std::int64_t start = os::file_clock_now();
    const Descriptor file = os::open_file(path);
    if (!file) return {std::nullopt, errno, errno == ENXIO};
    os::FileAttributes before;
    if (!os::attributes_of(file.get(), before)) return {std::nullopt, errno, false};
    if (before.kind != os::FileKind::regular)
        return {std::nullopt, before.kind == os::FileKind::folder ? EISDIR : EINVAL, true};
    if (before.size > largest_source_file) return {std::nullopt, EFBIG, false};

    FileContent content;
    if (const int error = read_whole(file.get(), before.size, content.text); error != 0) {
        return {std::nullopt, error, false};
    }
    os::FileAttributes after;
    if (!os::attributes_of(file.get(), after)) return {std::nullopt, errno, false};
    content.stamp = stamp_of(after);
    content.settled = is_settled(stamp_of(before), content.stamp, start) &&
                      content.stamp.size == content.text.size() && os::keeps_stamps(file.get());
    return {std::move(content), 0, false};
}

std::optional<Digest> digest_of_open_file(int file) {
    std::vector<std::byte> part(std::size_t{1} << 20);
    Hasher hasher;
    for (std::uint64_t at = 0;;) {
        const auto got = os::read_file_at(file, part, at);
        if (got < 0) return std::nullopt;
        if (got == 0) return hasher.finish();
        hasher.update(std::span(part).first(static_cast<std::size_t>(got)));
        at += static_cast<std::uint64_t>(got);
    }
}

std::optional<FileDigest> read_file_digest(const std::filesystem::path& path) {
    const std::int64_t start = os::file_clock_now();
    const Descriptor file = os::open_file(path);
    os::FileAttributes before;
    os::FileAttributes after;
    if (!file || !os::attributes_of(file.get(), before) || before.kind != os::FileKind::regular)
        return std::nullopt;
    const auto content = digest_of_open_file(file.get());
    if (!content || !os::attributes_of(file.get(), after)) return std::nullopt;
    const FileStamp stamp = stamp_of(after);
    return FileDigest{*content, stamp,
                      is_settled(stamp_of(before), stamp, start) && os::keeps_stamps(file.get())};
}

}  // namespace LODE_NAMESPACE
