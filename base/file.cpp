#include "base/file.hpp"

#include "base/os/file.hpp"
#include "base/os/process.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// The kind of a file that isn't regular.
std::string_view name_of(os::FileKind kind) noexcept {
    if (kind == os::FileKind::pipe) return "a pipe";
    if (kind == os::FileKind::device) return "a device";
    if (kind == os::FileKind::socket) return "a socket";
    return "of an unknown kind";
}

tl::unexpected<Error> too_large(const std::filesystem::path& path, std::uint64_t most) {
    return fail(Errc::file_failed,
                fmt::format("File '{}' has more than {} bytes, the most that lode reads of it.",
                            path.string(), most),
                native_from_errno(EFBIG));
}

/// The size of an open file; an error if it can't be read as a whole.
Result<std::uint64_t> readable_size(int file, const std::filesystem::path& path, std::uint64_t most,
                                    const FileCheck& check) {
    os::FileAttributes attributes;
    if (!os::attributes_of(file, attributes)) return fail_from_errno("Reading a file", path, errno);
    if (attributes.kind == os::FileKind::folder) {
        return fail(Errc::file_failed, fmt::format("'{}' is a folder, not a file.", path.string()),
                    native_from_errno(EISDIR));
    }
    if (attributes.kind != os::FileKind::regular) {
        return fail(Errc::file_failed,
                    fmt::format("'{}' is {}, not a regular file, so lode doesn't read it.",
                                path.string(), name_of(attributes.kind)),
                    native_from_errno(EINVAL));
    }
    if (check) LODE_TRY(check(attributes));
    if (attributes.size > most) return too_large(path, most);
    return attributes.size;
}

template <class Buffer>
Result<Buffer> read_whole(const std::filesystem::path& path, std::uint64_t most,
                          const FileCheck& check = {}) {
    const Descriptor file = os::open_file(path);
    if (!file) {
        const int error_number = errno;
        if (error_number == ENOENT || error_number == ENOTDIR) {
            return fail(Errc::not_found, fmt::format("File '{}' doesn't exist.", path.string()),
                        native_from_errno(error_number));
        }
        return fail_from_errno("Opening a file", path, error_number);
    }
    LODE_TRY_ASSIGN(const std::uint64_t size, readable_size(file.get(), path, most, check));

    Buffer buffer;
    constexpr std::size_t smallest_room = 4096;  // Also for files whose size stat reports as 0.
    std::size_t filled = 0;
    try {
        buffer.resize(static_cast<std::size_t>(size) + 1);
        for (;;) {
            if (filled == buffer.size()) buffer.resize(std::max(buffer.size() * 2, smallest_room));
            const auto room = std::as_writable_bytes(std::span(buffer)).subspan(filled);
            const auto got = os::read_file(file.get(), room);
            if (got < 0) return fail_from_errno("Reading a file", path, errno);
            if (got == 0) break;
            filled += static_cast<std::size_t>(got);
            if (filled > most) return too_large(path, most);
        }
    } catch (const std::bad_alloc&) {
        return fail(Errc::out_of_memory,
                    fmt::format("The host's memory can't hold the file '{}' ({} bytes).",
                                path.string(), size));
    } catch (const std::length_error&) {
        return too_large(path, buffer.max_size());
    }
    buffer.resize(filled);
    return buffer;
}

/// Creates a new file beside `path` and stores its name in `name`; sets errno on failure. The
/// kernel applies the umask to `mode`, so the process's umask is never changed. The name's length
/// doesn't depend on that of `path`, which may already be the longest that the file system allows.
/// Existing files of the same name (leftovers, another host's) are skipped.
Descriptor create_beside(const std::filesystem::path& path, unsigned mode,
                         std::filesystem::path& name) {
    static std::atomic<unsigned> counter{0};
    constexpr int tries = 1000;
    for (int i = 0; i < tries; ++i) {
        name = path.parent_path() / fmt::format(".{}.{}.tmp", os::process_id(), counter++);
        using os::Open;
        Descriptor file = os::open_file(name, Open::writing | Open::create | Open::only_new, mode);
        if (file || errno != EEXIST) return file;
    }
    return {};
}

}  // namespace

int make_folders(const std::filesystem::path& path) {
    const auto make = [&] { return os::make_folder(path) || errno == EEXIST; };
    if (make()) return 0;
    if (errno != ENOENT || !path.has_relative_path()) return errno;
    if (const int problem = make_folders(path.parent_path()); problem != 0) return problem;
    return make() ? 0 : errno;
}

int write_all(int file, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const auto put = os::write_file(file, bytes);
        if (put < 0) return errno;
        if (put == 0) return EIO;
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return 0;
}

Native native_from_errno(int error_number) {
    const char* const name = os::error_name(error_number);
    return {Native::Origin::system, error_number,
            name != nullptr ? name : fmt::format("errno {}", error_number)};
}

tl::unexpected<Error> fail_from_errno(std::string_view doing, const std::filesystem::path& path,
                                      int error_number) {
    const auto reason = std::system_category().message(error_number);
    return fail(Errc::file_failed,
                fmt::format("{} fails: {} ('{}').", doing, reason, path.string()),
                native_from_errno(error_number));
}

Result<std::string> read_text(const std::filesystem::path& path, std::uint64_t most) {
    return read_whole<std::string>(path, most);
}

Result<std::vector<std::byte>> read_bytes(const std::filesystem::path& path, std::uint64_t most) {
    return read_whole<std::vector<std::byte>>(path, most);
}

Result<std::string> read_text_if(const std::filesystem::path& path, std::uint64_t most,
                                 const FileCheck& check) {
    return read_whole<std::string>(path, most, check);
}

Status write_atomic(const std::filesystem::path& path, std::span<const std::byte> bytes,
                    unsigned mode) {
    std::filesystem::path temporary;
    const Descriptor file = create_beside(path, mode, temporary);
    if (!file) return fail_from_errno("Creating a file", path, errno);

    std::error_code problem;
    const auto write = [&]() -> Status {
        if (const int error = write_all(file.get(), bytes); error != 0)
            return fail_from_errno("Writing a file", path, error);
        // Some file systems report a failed write only here.
        if (!os::flush_file(file.get())) return fail_from_errno("Writing a file", path, errno);
        std::filesystem::rename(temporary, path, problem);
        if (problem) return fail_from_errno("Renaming a file", path, problem.value());
        return {};
    };
    Status written = write();
    if (!written) std::filesystem::remove(temporary, problem);
    return written;
}

Status write_atomic(const std::filesystem::path& path, std::string_view text, unsigned mode) {
    return write_atomic(path, std::as_bytes(std::span(text)), mode);
}

std::filesystem::path follow_links(std::filesystem::path path) {
    constexpr int most = 40;  // As Linux.
    std::error_code problem;
    for (int i = 0; i < most && std::filesystem::is_symlink(path, problem); ++i) {
        const auto target = std::filesystem::read_symlink(path, problem);
        if (problem) break;
        path = path.parent_path() / target;
    }
    return path;
}

Status write_result(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    using std::filesystem::file_type;
    std::error_code problem;
    const auto kind = std::filesystem::status(path, problem).type();
    if (kind != file_type::not_found && kind != file_type::regular) {
        const Descriptor file = os::open_file(path, os::Open::writing | os::Open::waiting);
        if (!file) return fail_from_errno("Opening a file", path, errno);
        if (const int error = write_all(file.get(), bytes); error != 0)
            return fail_from_errno("Writing a file", path, error);
        return {};
    }
    const auto target = follow_links(path);
    if (target.has_parent_path()) {
        std::filesystem::create_directories(target.parent_path(), problem);
        if (problem) {
            return fail_from_errno("Making the folder of a result", target.parent_path(),
                                   problem.value());
        }
    }
    return write_atomic(target, bytes);
}

Status write_result(const std::filesystem::path& path, std::string_view text) {
    return write_result(path, std::as_bytes(std::span(text)));
}

}  // namespace LODE_NAMESPACE
