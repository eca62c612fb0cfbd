#include "base/os/file_operations.hpp"

#include "base/os/linux/attributes.hpp"

#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace LODE_NAMESPACE::os {
namespace {

constexpr mode_t owner_only = S_IRUSR | S_IWUSR;

}  // namespace

const FileOperations& FileOperations::system() noexcept {
    static const FileOperations operations;
    return operations;
}

int FileOperations::open(int folder, const std::string& name, Open flags) const noexcept {
    static std::atomic<bool> has_openat2{true};
    const int all_flags = open_flags(flags | Open::no_link);
    if (has_openat2.load(std::memory_order_relaxed)) {
        open_how how{};
        how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(all_flags));
        how.mode = has(flags, Open::create) ? owner_only : 0;
        how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
        long file = -1;
        do {  // EAGAIN: a concurrent rename disturbed the walk.
            file = ::syscall(__NR_openat2, folder, name.c_str(), &how, sizeof(how));
        } while (file < 0 && errno == EAGAIN);
        if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(file);
        has_openat2.store(false, std::memory_order_relaxed);
    }
    // Older kernels: check each folder on the way separately.
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        FileAttributes parent;
        if (attributes_at(folder, name.substr(0, slash), parent) != 0) return -1;
        if (parent.kind == FileKind::link) {
            errno = ELOOP;
            return -1;
        }
    }
    return ::openat(folder, name.c_str(), all_flags, owner_only);
}

int FileOperations::close(int file) const noexcept {
    return ::close(file);
}

int FileOperations::attributes(int file, FileAttributes& attributes) const noexcept {
    return attributes_of(file, attributes) ? 0 : -1;
}

int FileOperations::attributes_at(int folder, const std::string& name,
                                  FileAttributes& attributes) const noexcept {
    struct stat status {};
    const int result = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    if (result == 0) attributes = attributes_of(status);
    return result;
}

std::ptrdiff_t FileOperations::read(int file, std::span<std::byte> into) const noexcept {
    return read_file(file, into);
}

std::ptrdiff_t FileOperations::write(int file, std::span<const std::byte> bytes) const noexcept {
    return write_file(file, bytes);
}

int FileOperations::make_private(int file) const noexcept {
    return ::fchmod(file, owner_only);
}

int FileOperations::touch(int file) const noexcept {
    return ::futimens(file, nullptr);
}

int FileOperations::rename(int from_folder, const std::string& from, int to_folder,
                           const std::string& to) const noexcept {
    return ::renameat(from_folder, from.c_str(), to_folder, to.c_str());
}

int FileOperations::link(int from_folder, const std::string& from, int to_folder,
                         const std::string& to) const noexcept {
    return ::linkat(from_folder, from.c_str(), to_folder, to.c_str(), 0);
}

int FileOperations::remove(int folder, const std::string& name) const noexcept {
    return ::unlinkat(folder, name.c_str(), 0);
}

int FileOperations::remove_folder(int folder, const std::string& name) const noexcept {
    return ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

int FileOperations::make_folder(int folder, const std::string& name) const noexcept {
    return ::mkdirat(folder, name.c_str(), S_IRWXU);
}

int FileOperations::lock_file(int file) const noexcept {
    return ::flock(file, LOCK_EX | LOCK_NB);
}

int FileOperations::lock_byte(int file, std::int64_t offset) const noexcept {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = offset;
    range.l_len = 1;
    return ::fcntl(file, F_OFD_SETLK, &range);
}

}  // namespace LODE_NAMESPACE::os
