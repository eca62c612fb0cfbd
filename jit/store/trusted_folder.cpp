#include "jit/store/trusted_folder.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>
#include <system_error>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr mode_t folder_mode = 0700;
constexpr mode_t file_mode = 0600;
constexpr mode_t writable_by_others = S_IWGRP | S_IWOTH;
constexpr std::uint64_t largest_file = std::uint64_t{4} << 30;
constexpr std::int64_t stamp_precision = 3600;
/// How often a call is made that an NFS server may refuse because another client changed something.
constexpr int most_attempts = 3;

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

/// Whether NFS keeps the file, which was removed while it was open, under a name of its own: it is
/// gone with its last user, and can't be removed before.
bool is_left_open(std::string_view name) noexcept {
    return name.starts_with(".nfs");
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

Result<TrustedFolder> TrustedFolder::open(const std::filesystem::path& path, bool create,
                                          const FileOperations& operations) {
    std::error_code problem;
    const auto absolute = std::filesystem::absolute(path, problem);
    if (problem) return fail_from_errno("Finding the cache folder", path, problem.value());
    if (create) {
        if (const int why = make_folders(absolute); why != 0)
            return fail_from_errno("Creating the cache folder", absolute, why);
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
    return TrustedFolder(absolute, std::move(folder), status.st_uid, operations);
}

int TrustedFolder::open_inside(const std::string& name, int flags) const noexcept {
    return operations_->open(folder_.get(), name, flags, file_mode);
}

bool TrustedFolder::is_gone(const std::string& name) const noexcept {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        if (Descriptor(open_inside(name, O_RDONLY))) return false;
        if (errno != ESTALE) break;
    }
    return errno == ENOENT;
}

Result<TrustedFolder::Read> TrustedFolder::read(const std::string& name, bool restamp) const {
    // A file that is replaced while it is read may be gone from an NFS server; then the name leads
    // to the new one.
    for (int attempt = 1;; ++attempt) {
        int problem = 0;
        auto result = try_read(name, restamp, problem);
        if (problem == 0) return result;
        if (problem == ESTALE && attempt < most_attempts) continue;
        if (is_absence(problem)) return Read{};
        return fail_from_errno("Reading the cache", path_ / name, problem);
    }
}

TrustedFolder::Read TrustedFolder::try_read(const std::string& name, bool restamp,
                                            int& problem) const {
    Read result{Read::State::untrusted, {}};
    const Descriptor file(open_inside(name, O_RDONLY));
    if (!file) {
        if (errno != ELOOP && errno != ENXIO && errno != EXDEV) problem = errno;
        return result;
    }
    struct stat status {};
    if (operations_->attributes(file.get(), status) != 0) {
        problem = errno;
        return result;
    }
    result.record.identity = identity_of(status);
    if (!is_trustworthy(status, owner_)) return result;

    Bytes& bytes = result.record.bytes;
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t got = operations_->read(file.get(), std::span(bytes).subspan(filled));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            problem = errno;
            return result;
        }
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    result.state = Read::State::present;
    const std::int64_t age = now_seconds() - status.st_mtim.tv_sec;
    if (restamp && (age > stamp_precision || age < -stamp_precision)) {
        // Failing to set a stamp is harmless: the stamp only stays old.
        if (operations_->touch(file.get()) == 0 &&
            operations_->attributes(file.get(), status) == 0) {
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
            return operations_->make_folder(folder_.get(), parent, folder_mode) == 0;
        };
        if (make()) continue;
        const int why = errno;
        struct stat status {};
        const bool is_link = why == EEXIST &&
                             operations_->attributes_at(folder_.get(), parent, status) == 0 &&
                             S_ISLNK(status.st_mode);
        // Nothing is read through a link, so its contents would be compiled again and again.
        if (is_link && operations_->unlink(folder_.get(), parent, 0) == 0 && make()) continue;
        if (why != EEXIST) return fail_from_errno("Creating a cache folder", path_ / parent, why);
    }
    return {};
}

Descriptor TrustedFolder::open_folder_of(const std::string& name) const noexcept {
    return Descriptor(open_inside(folder_of(name), O_RDONLY | O_DIRECTORY));
}

Status TrustedFolder::replace(const std::string& name, const std::string& temporary,
                              std::span<const std::byte> bytes) const {
    Status written;
    // A server may forget a file that is open, and a reply that is lost may make a second attempt
    // find what the first has made.
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        written = try_replace(name, temporary, bytes);
        if (written) break;
        const int problem = written.error().native.code;
        if (problem != ESTALE && problem != EEXIST) break;
    }
    return written;
}

Status TrustedFolder::try_replace(const std::string& name, const std::string& temporary,
                                  std::span<const std::byte> bytes) const {
    const std::string scratch = fmt::format("{}/{}.tmp", temporary, random_name());
    LODE_TRY_ASSIGN(Descriptor file, open_or_make(scratch, O_WRONLY | O_CREAT | O_EXCL));
    const auto publish = [&]() -> Status {
        for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t put = operations_->write(file.get(), bytes.subspan(done));
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) return fail_from_errno("Writing to the cache", path_ / scratch, errno);
            done += static_cast<std::size_t>(put);
        }
        // Quota and network file systems may report a failed write only here.
        if (operations_->change_mode(file.get(), file_mode) != 0 ||
            operations_->close(file.release()) != 0) {
            return fail_from_errno("Writing to the cache", path_ / scratch, errno);
        }
        return rename_to(scratch, name);
    };
    Status published = publish();
    if (!published) (void)operations_->unlink(folder_.get(), scratch, 0);
    return published;
}

Result<Descriptor> TrustedFolder::open_trusted(const std::string& name) const {
    Descriptor file(open_inside(name, O_RDONLY));
    if (!file && (is_no_way(errno) || errno == ENXIO)) return file;
    struct stat status {};
    if (!file || operations_->attributes(file.get(), status) != 0)
        return fail_from_errno("Reading the cache", path_ / name, errno);
    return is_trustworthy(status, owner_) ? std::move(file) : Descriptor();
}

Status TrustedFolder::adopt(const std::string& temporary, const std::string& name) const {
    const Descriptor file(open_inside(temporary, O_RDONLY));
    if (!file || operations_->change_mode(file.get(), file_mode) != 0)
        return fail_from_errno("Writing to the cache", path_ / temporary, errno);
    LODE_TRY(make_parents(name));
    return rename_to(temporary, name);
}

Status TrustedFolder::rename_to(const std::string& temporary, const std::string& name) const {
    const auto rename = [&] {
        const Descriptor folder = open_folder_of(name);
        if (!folder) return false;
        if (operations_->rename(folder_.get(), temporary, folder.get(), leaf_of(name)) == 0)
            return true;
        // The reply may have been lost, and the failure may be that of a repetition. No other
        // process takes the temporary file away, and its new name may seem absent for a while.
        const int why = errno;
        if (is_gone(temporary)) return true;
        errno = why;
        return false;
    };
    for (int attempt = 1; !rename(); ++attempt) {
        if (!is_no_way(errno) || attempt == most_attempts)
            return fail_from_errno("Renaming in the cache", path_ / name, errno);
        LODE_TRY(make_parents(name));
    }
    return {};
}

void TrustedFolder::touch(const std::string& name) const noexcept {
    const Descriptor file(open_inside(name, O_RDONLY));
    if (file) (void)operations_->touch(file.get());
}

Status TrustedFolder::remove(const std::string& name) const {
    const Descriptor folder = open_folder_of(name);
    if (folder && operations_->unlink(folder.get(), leaf_of(name), 0) == 0) return {};
    if (is_no_way(errno)) return {};
    return fail_from_errno("Removing from the cache", path_ / name, errno);
}

Status TrustedFolder::remove_folder(const std::string& name) const {
    const Descriptor folder = open_folder_of(name);
    if (folder && operations_->unlink(folder.get(), leaf_of(name), AT_REMOVEDIR) == 0) return {};
    if (is_no_way(errno) || errno == ENOTEMPTY || errno == EEXIST) return {};
    return fail_from_errno("Removing from the cache", path_ / name, errno);
}

Status TrustedFolder::remove_if(const std::string& name, const FileIdentity& only,
                                const std::string& aside) const {
    struct stat status {};
    // NFS may give a name the attributes of a file that had it before. A link, and a file that
    // mustn't be read, can't be opened.
    const auto look = [&](const std::string& at) {
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const Descriptor file(open_inside(at, O_RDONLY));
            if (file && operations_->attributes(file.get(), status) == 0) return true;
            if (errno != ESTALE) break;
        }
        return !is_absence(errno) && operations_->attributes_at(folder_.get(), at, status) == 0;
    };
    if (!look(name) || identity_of(status) != only) return {};
    const Descriptor folder = open_folder_of(name);
    if (!folder) return {};
    // A writer may have replaced it before the move, so it is checked again where no writer can
    // reach it.
    const std::string leaf = leaf_of(name);
    const std::string moved = fmt::format("{}/{}.tmp", aside, random_name());
    LODE_TRY(make_parents(moved));
    if (operations_->rename(folder.get(), leaf, folder_.get(), moved) != 0) {
        const int why = errno;
        // The reply may have been lost: then it is there all the same.
        if (!look(moved)) {
            if (is_absence(why)) return {};
            return fail_from_errno("Removing from the cache", path_ / name, why);
        }
    }
    if (!look(moved) || identity_of(status) != only) {
        // Fails if a newer file exists by now, which is just as good.
        (void)!operations_->link(folder_.get(), moved, folder.get(), leaf);
    }
    return remove(moved);
}

Result<Descriptor> TrustedFolder::open_shared(const std::string& name, int extra_flags) const {
    return open_or_make(name, O_RDWR | O_CREAT | extra_flags);
}

Result<Descriptor> TrustedFolder::open_or_make(const std::string& name, int flags) const {
    for (int attempt = 1;; ++attempt) {
        if (Descriptor file(open_inside(name, flags)); file) return file;
        if (!is_no_way(errno) || attempt == most_attempts)
            return fail_from_errno("Opening a cache file", path_ / name, errno);
        LODE_TRY(make_parents(name));
    }
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
        if (item->d_type == DT_DIR || is_left_open(item->d_name) ||
            operations_->attributes_at(::dirfd(listing.get()), item->d_name, status) != 0) {
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
            operations_->attributes_at(::dirfd(listing.get()), name, status) != 0 ||
            !S_ISDIR(status.st_mode)) {
            continue;
        }
        names.push_back(name);
    }
    return names;
}

}  // namespace LODE_NAMESPACE::cache
