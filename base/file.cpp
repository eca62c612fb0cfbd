#include "base/file.hpp"

#include "base/descriptor.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace LODE_NAMESPACE {
namespace {

/// The kind of a file that isn't regular.
std::string_view kind_of(mode_t mode) noexcept {
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISSOCK(mode)) return "a socket";
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
    struct stat status {};
    if (::fstat(file, &status) != 0) return fail_from_errno("Reading a file", path, errno);
    if (S_ISDIR(status.st_mode)) return fail_from_errno("Reading a file", path, EISDIR);
    if (!S_ISREG(status.st_mode)) {
        return fail(Errc::file_failed,
                    fmt::format("'{}' is {}, not a regular file, so lode doesn't read it.",
                                path.string(), kind_of(status.st_mode)),
                    native_from_errno(EINVAL));
    }
    if (check) LODE_TRY(check(status));
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > most) return too_large(path, most);
    return size;
}

template <class Buffer>
Result<Buffer> read_whole(const std::filesystem::path& path, std::uint64_t most,
                          const FileCheck& check = {}) {
    // O_NONBLOCK: otherwise opening a pipe without a writer blocks forever. Regular files ignore
    // it.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) {
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
            const ssize_t got = ::read(file.get(), buffer.data() + filled, buffer.size() - filled);
            if (got < 0 && errno == EINTR) continue;
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

/// Creates a new file beside `path` and stores its name in `name`; returns -1 and sets errno on
/// failure. The kernel applies the umask to `mode`, so the process's umask is never changed. The
/// name's length doesn't depend on that of `path`, which may already be the longest that the file
/// system allows. Existing files of the same name (leftovers, another host's) are skipped.
int create_beside(const std::filesystem::path& path, unsigned mode, std::filesystem::path& name) {
    static std::atomic<unsigned> counter{0};
    constexpr int tries = 1000;
    for (int i = 0; i < tries; ++i) {
        name = path.parent_path() / fmt::format(".{}.{}.tmp", ::getpid(), counter++);
        const int file = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

}  // namespace

int make_folders(const std::filesystem::path& path) {
    const auto make = [&] { return ::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST; };
    if (make()) return 0;
    if (errno != ENOENT || !path.has_relative_path()) return errno;
    if (const int problem = make_folders(path.parent_path()); problem != 0) return problem;
    return make() ? 0 : errno;
}

int write_all(int file, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t put = ::write(file, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        if (put == 0) return EIO;
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return 0;
}

Native native_from_errno(int error_number) {
    const char* const name = ::strerrorname_np(error_number);
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
    const Descriptor file(create_beside(path, mode, temporary));
    if (file.get() < 0) return fail_from_errno("Creating a file", path, errno);

    const auto write = [&]() -> Status {
        if (const int problem = write_all(file.get(), bytes); problem != 0)
            return fail_from_errno("Writing a file", path, problem);
        // Some file systems report a failed write only here.
        if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) {
            return fail_from_errno("Writing a file", path, errno);
        }
        if (::rename(temporary.c_str(), path.c_str()) != 0) {
            return fail_from_errno("Renaming a file", path, errno);
        }
        return {};
    };
    Status written = write();
    if (!written) ::unlink(temporary.c_str());
    return written;
}

Status write_atomic(const std::filesystem::path& path, std::string_view text, unsigned mode) {
    return write_atomic(path, std::as_bytes(std::span(text)), mode);
}

}  // namespace LODE_NAMESPACE
