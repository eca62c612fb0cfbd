#include "jit/cache/store/trusted_folder.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>
#include <system_error>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lode::cache {
namespace {

constexpr mode_t folder_mode = 0700;
constexpr mode_t file_mode = 0600;
constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;
constexpr std::uint64_t largest_file = std::uint64_t{4} << 30;
constexpr std::int64_t stamp_precision = 3600;

bool is_absence(int error_number) noexcept {
    // ESTALE: an NFS server dropped the file after the name was looked up.
    return error_number == ENOENT || error_number == ENOTDIR || error_number == ESTALE;
}

/// Whether a path component is missing as a folder or is a link.
bool is_no_way(int error_number) noexcept {
    return is_absence(error_number) || error_number == ELOOP || error_number == EXDEV;
}

std::int64_t now_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

tl::unexpected<Error> refuse(const std::filesystem::path& path, std::string_view why) {
    return fail(Errc::file_failed,
                fmt::format("Cache folder '{}' isn't used: {}. Set LODE_CACHE_DIR to a folder that "
                            "only this user can write to.",
                            path.string(), why));
}

/// Whether it is a regular file of the owner that no other user may write.
bool is_trustworthy(const struct stat& status, uid_t owner) noexcept {
    return S_ISREG(status.st_mode) && status.st_uid == owner &&
           (status.st_mode & writable_by_others) == 0 &&
           static_cast<std::uint64_t>(status.st_size) <= largest_file;
}

/// An open directory listing.
struct CloseListing {
    void operator()(DIR* listing) const noexcept { ::closedir(listing); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

Listing open_listing(int folder) noexcept {
    if (folder < 0) return nullptr;
    DIR* listing = ::fdopendir(folder);
    if (listing == nullptr) ::close(folder);
    return Listing(listing);
}

/// The folder part of a relative name ("." if it has none), and its last part.
std::string folder_of(const std::string& name) {
    const auto slash = name.rfind('/');
    return slash == std::string::npos ? "." : name.substr(0, slash);
}
std::string leaf_of(const std::string& name) {
    return name.substr(name.rfind('/') + 1);
}

}  // namespace

FileIdentity identity_of(const struct stat& status) noexcept {
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec * ns_per_second + status.st_mtim.tv_nsec};
}

std::string random_name() {
    thread_local std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

Result<TrustedFolder> TrustedFolder::open(const std::filesystem::path& path, bool create) {
    std::error_code problem;
    const auto absolute = std::filesystem::absolute(path, problem);
    if (problem) return fail_from_errno("Finding the cache folder", path, problem.value());
    if (create && ::mkdir(absolute.c_str(), folder_mode) != 0 && errno != EEXIST) {
        std::filesystem::create_directories(absolute.parent_path(), problem);
        if (::mkdir(absolute.c_str(), folder_mode) != 0 && errno != EEXIST) {
            return fail_from_errno("Creating the cache folder", absolute, errno);
        }
    }
    Descriptor folder(::open(absolute.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && errno == ENOENT) {
        return fail(Errc::not_found,
                    fmt::format("Cache folder '{}' doesn't exist.", absolute.string()));
    }
    if (!folder && (errno == ELOOP || errno == ENOTDIR)) {
        return refuse(absolute, "it is a symbolic link, or not a folder");
    }
    if (!folder) return fail_from_errno("Opening the cache folder", absolute, errno);

    struct stat status {};
    if (::fstat(folder.get(), &status) != 0) {
        return fail_from_errno("Opening the cache folder", absolute, errno);
    }
    const bool owned = status.st_uid == ::geteuid() || (!create && status.st_uid == 0);
    if (!owned) return refuse(absolute, fmt::format("it belongs to user {}", status.st_uid));
    if ((status.st_mode & writable_by_others) != 0) {
        return refuse(absolute, fmt::format("other users may write to it (mode {:o})",
                                            status.st_mode & 07777U));
    }
    return TrustedFolder(absolute, std::move(folder), status.st_uid);
}

int TrustedFolder::open_inside(const std::string& name, int flags) const noexcept {
    static std::atomic<bool> has_openat2{true};
    const int all_flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    if (has_openat2.load(std::memory_order_relaxed)) {
        open_how how{};
        how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(all_flags));
        how.mode = (flags & O_CREAT) != 0 ? file_mode : 0;
        how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
        long file = -1;
        do {  // EAGAIN: a concurrent rename disturbed the walk.
            file = ::syscall(SYS_openat2, folder_.get(), name.c_str(), &how, sizeof(how));
        } while (file < 0 && errno == EAGAIN);
        if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(file);
        has_openat2.store(false, std::memory_order_relaxed);
    }
    // Older kernels: check each folder on the way separately.
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        struct stat status {};
        const auto parent = name.substr(0, slash);
        if (::fstatat(folder_.get(), parent.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
        if (S_ISLNK(status.st_mode)) {
            errno = ELOOP;
            return -1;
        }
    }
    return ::openat(folder_.get(), name.c_str(), all_flags, file_mode);
}

Result<TrustedFolder::Read> TrustedFolder::read(const std::string& name, bool restamp) const {
    const Descriptor file(open_inside(name, O_RDONLY));
    if (!file && is_absence(errno)) return Read{};
    if (!file && (errno == ELOOP || errno == ENXIO || errno == EXDEV)) {
        return Read{Read::State::untrusted, {}};
    }
    if (!file) return fail_from_errno("Reading the cache", path_ / name, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        if (is_absence(errno)) return Read{};
        return fail_from_errno("Reading the cache", path_ / name, errno);
    }
    Read result{Read::State::untrusted, {{}, identity_of(status)}};
    if (!is_trustworthy(status, owner_)) return result;

    Bytes& bytes = result.record.bytes;
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && is_absence(errno)) return Read{};
        if (got < 0) return fail_from_errno("Reading the cache", path_ / name, errno);
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    result.state = Read::State::present;
    const std::int64_t age = now_seconds() - status.st_mtim.tv_sec;
    if (restamp && (age > stamp_precision || age < -stamp_precision)) {
        // Failing to set a stamp is harmless: the stamp only stays old.
        if (::futimens(file.get(), nullptr) == 0 && ::fstat(file.get(), &status) == 0) {
            result.record.identity = identity_of(status);
        }
    }
    return result;
}

Status TrustedFolder::make_parents(const std::string& name) const {
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        const auto parent = name.substr(0, slash);
        const auto make = [&] {
            return ::mkdirat(folder_.get(), parent.c_str(), folder_mode) == 0;
        };
        if (make()) continue;
        struct stat status {};
        const bool is_link =
            errno == EEXIST &&
            ::fstatat(folder_.get(), parent.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(status.st_mode);
        if (is_link) {
            // Nothing is read through a link, so its contents would be compiled again and again.
            if (::unlinkat(folder_.get(), parent.c_str(), 0) == 0 && make()) continue;
        }
        if (errno != EEXIST) {
            return fail_from_errno("Creating a cache folder", path_ / parent, errno);
        }
    }
    return {};
}

Descriptor TrustedFolder::open_folder_of(const std::string& name) const noexcept {
    return Descriptor(open_inside(folder_of(name), O_RDONLY | O_DIRECTORY));
}

Status TrustedFolder::replace(const std::string& name, const std::string& temporary,
                              std::span<const std::byte> bytes) const {
    const std::string scratch = fmt::format("{}/{}.tmp", temporary, random_name());
    Descriptor file(open_inside(scratch, O_WRONLY | O_CREAT | O_EXCL));
    if (!file && is_no_way(errno)) {
        LODE_TRY(make_parents(scratch));
        file = Descriptor(open_inside(scratch, O_WRONLY | O_CREAT | O_EXCL));
    }
    if (!file) return fail_from_errno("Writing to the cache", path_ / scratch, errno);

    const auto publish = [&]() -> Status {
        if (const int problem = write_all(file.get(), bytes); problem != 0)
            return fail_from_errno("Writing to the cache", path_ / scratch, problem);
        // Quota and network file systems may report a failed write only here.
        if (::fchmod(file.get(), file_mode) != 0 || !file.close()) {
            return fail_from_errno("Writing to the cache", path_ / scratch, errno);
        }
        const auto rename = [&] {
            const Descriptor folder = open_folder_of(name);
            return folder && ::renameat(folder_.get(), scratch.c_str(), folder.get(),
                                        leaf_of(name).c_str()) == 0;
        };
        if (rename()) return {};
        if (!is_no_way(errno)) {
            return fail_from_errno("Renaming in the cache", path_ / name, errno);
        }
        LODE_TRY(make_parents(name));
        if (rename()) return {};
        return fail_from_errno("Renaming in the cache", path_ / name, errno);
    };
    Status published = publish();
    if (!published) ::unlinkat(folder_.get(), scratch.c_str(), 0);
    return published;
}

Result<Descriptor> TrustedFolder::open_trusted(const std::string& name) const {
    Descriptor file(open_inside(name, O_RDONLY));
    if (!file && (is_no_way(errno) || errno == ENXIO)) return file;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0)
        return fail_from_errno("Reading the cache", path_ / name, errno);
    return is_trustworthy(status, owner_) ? std::move(file) : Descriptor();
}

Status TrustedFolder::adopt(const std::string& temporary, const std::string& name) const {
    const Descriptor file(open_inside(temporary, O_RDONLY));
    if (!file || ::fchmod(file.get(), file_mode) != 0)
        return fail_from_errno("Writing to the cache", path_ / temporary, errno);
    LODE_TRY(make_parents(name));
    const Descriptor folder = open_folder_of(name);
    if (!folder ||
        ::renameat(folder_.get(), temporary.c_str(), folder.get(), leaf_of(name).c_str()) != 0)
        return fail_from_errno("Renaming in the cache", path_ / name, errno);
    return {};
}

void TrustedFolder::touch(const std::string& name) const noexcept {
    const Descriptor file(open_inside(name, O_RDONLY));
    if (file) (void)::futimens(file.get(), nullptr);
}

Status TrustedFolder::remove(const std::string& name) const {
    const Descriptor folder = open_folder_of(name);
    if (folder && ::unlinkat(folder.get(), leaf_of(name).c_str(), 0) == 0) return {};
    if (is_no_way(errno)) return {};
    return fail_from_errno("Removing from the cache", path_ / name, errno);
}

Status TrustedFolder::remove_folder(const std::string& name) const {
    const Descriptor folder = open_folder_of(name);
    if (folder && ::unlinkat(folder.get(), leaf_of(name).c_str(), AT_REMOVEDIR) == 0) return {};
    if (is_no_way(errno) || errno == ENOTEMPTY || errno == EEXIST) return {};
    return fail_from_errno("Removing from the cache", path_ / name, errno);
}

Status TrustedFolder::remove_if(const std::string& name, const FileIdentity& only,
                                const std::string& aside) const {
    struct stat status {};
    const auto look = [&status](int folder, const std::string& at) {
        return ::fstatat(folder, at.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    };
    const Descriptor folder = open_folder_of(name);
    const std::string leaf = leaf_of(name);
    if (!folder || !look(folder.get(), leaf) || identity_of(status) != only) return {};
    // A writer may have replaced it before the move, so it is checked again where no writer can
    // reach it.
    const std::string moved = fmt::format("{}/{}.tmp", aside, random_name());
    LODE_TRY(make_parents(moved));
    if (::renameat(folder.get(), leaf.c_str(), folder_.get(), moved.c_str()) != 0) {
        if (is_absence(errno)) return {};
        return fail_from_errno("Removing from the cache", path_ / name, errno);
    }
    if (look(folder_.get(), moved) && identity_of(status) != only) {
        // Fails if a newer file exists by now, which is just as good.
        [[maybe_unused]] const int linked =
            ::linkat(folder_.get(), moved.c_str(), folder.get(), leaf.c_str(), 0);
    }
    return remove(moved);
}

Result<Descriptor> TrustedFolder::open_shared(const std::string& name, int extra_flags) const {
    Descriptor file(open_inside(name, O_RDWR | O_CREAT | extra_flags));
    if (!file && is_no_way(errno)) {
        LODE_TRY(make_parents(name));
        file = Descriptor(open_inside(name, O_RDWR | O_CREAT | extra_flags));
    }
    if (!file) return fail_from_errno("Opening a cache file", path_ / name, errno);
    return file;
}

Status TrustedFolder::list(
    const std::string& folder,
    const std::function<void(const std::string&, const FileIdentity&)>& visit) const {
    const Listing listing = open_listing(open_inside(folder, O_RDONLY | O_DIRECTORY));
    if (!listing) {
        if (is_absence(errno)) return {};
        return fail_from_errno("Listing the cache", path_ / folder, errno);
    }
    while (const dirent* item = ::readdir(listing.get())) {
        struct stat status {};
        if (item->d_type == DT_DIR ||
            ::fstatat(::dirfd(listing.get()), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (S_ISDIR(status.st_mode)) continue;
        visit(item->d_name, identity_of(status));
    }
    return {};
}

Result<std::vector<std::string>> TrustedFolder::folders(const std::string& folder) const {
    std::vector<std::string> names;
    const Listing listing = open_listing(open_inside(folder, O_RDONLY | O_DIRECTORY));
    if (!listing) {
        if (is_absence(errno)) return names;
        return fail_from_errno("Listing the cache", path_ / folder, errno);
    }
    while (const dirent* item = ::readdir(listing.get())) {
        struct stat status {};
        const std::string name = item->d_name;
        if (name == "." || name == ".." ||
            ::fstatat(::dirfd(listing.get()), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(status.st_mode)) {
            continue;
        }
        names.push_back(name);
    }
    return names;
}

}  // namespace lode::cache
