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

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::uint64_t largest_file = std::uint64_t{4} << 30;
constexpr std::int64_t stamp_precision = 3600;
/// How often a call is made that an NFS server may refuse because another client changed something.
constexpr int most_attempts = 3;

bool is_absence(int error_number) noexcept {
    // An NFS server may drop the file after the name was looked up.
    return error_number == ENOENT || error_number == ENOTDIR || os::is_stale(error_number);
}

/// Whether a path component is missing as a folder or is a link.
bool leads_nowhere(int error_number) noexcept {
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
bool is_trustworthy(const os::FileAttributes& file, os::UserId owner) noexcept {
    return file.kind == os::FileKind::regular && file.owner == owner &&
           (file.permissions & os::others_may_write) == 0 && file.size <= largest_file;
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

FileIdentity identity_of(const os::FileAttributes& attributes) noexcept {
    return {attributes.device, attributes.number, attributes.size, attributes.modified_ns};
}

std::string random_name() {
    thread_local std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

Result<TrustedFolder> TrustedFolder::open(const std::filesystem::path& path, bool create,
                                          const os::FileOperations& operations) {
    std::error_code problem;
    const auto absolute = std::filesystem::absolute(path, problem);
    if (problem) return fail_from_errno("Finding the cache folder", path, problem.value());
    if (create) {
        if (const int why = make_folders(absolute); why != 0)
            return fail_from_errno("Creating the cache folder", absolute, why);
    }
    Descriptor folder = os::open_file(absolute, os::Open::folder | os::Open::no_link);
    if (!folder && errno == ENOENT) {
        return fail(Errc::not_found,
                    fmt::format("Cache folder '{}' doesn't exist.", absolute.string()));
    }
    if (!folder && (errno == ELOOP || errno == ENOTDIR)) {
        return refuse(absolute, "it is a symbolic link, or not a folder");
    }
    if (!folder) return fail_from_errno("Opening the cache folder", absolute, errno);

    os::FileAttributes attributes;
    if (!os::attributes_of(folder.get(), attributes)) {
        return fail_from_errno("Opening the cache folder", absolute, errno);
    }
    const os::UserId owner = attributes.owner;
    const bool owned = owner == os::user_id() || (!create && owner == 0);
    if (!owned) return refuse(absolute, fmt::format("it belongs to user {}", owner));
    if ((attributes.permissions & os::others_may_write) != 0) {
        return refuse(absolute, fmt::format("other users may write to it (mode {:o})",
                                            attributes.permissions));
    }
    return TrustedFolder(absolute, std::move(folder), owner, operations);
}

Descriptor TrustedFolder::open_inside(const std::string& name, os::Open flags) const noexcept {
    return Descriptor(operations_->open(folder_.get(), name, flags));
}

bool TrustedFolder::is_gone(const std::string& name) const noexcept {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        if (open_inside(name)) return false;
        if (!os::is_stale(errno)) break;
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
        if (os::is_stale(problem) && attempt < most_attempts) continue;
        if (is_absence(problem)) return Read{};
        return fail_from_errno("Reading the cache", path_ / name, problem);
    }
}

TrustedFolder::Read TrustedFolder::try_read(const std::string& name, bool restamp,
                                            int& problem) const {
    Read result{Read::State::untrusted, {}};
    const Descriptor file = open_inside(name);
    if (!file) {
        if (errno != ELOOP && errno != ENXIO && errno != EXDEV) problem = errno;
        return result;
    }
    os::FileAttributes attributes;
    if (operations_->attributes(file.get(), attributes) != 0) {
        problem = errno;
        return result;
    }
    result.record.identity = identity_of(attributes);
    if (!is_trustworthy(attributes, owner_)) return result;

    Bytes& bytes = result.record.bytes;
    bytes.resize(static_cast<std::size_t>(attributes.size));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const auto got = operations_->read(file.get(), std::span(bytes).subspan(filled));
        if (got < 0) {
            problem = errno;
            return result;
        }
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    bytes.resize(filled);
    result.state = Read::State::present;
    const std::int64_t age = now_seconds() - attributes.modified_ns / ns_per_second;
    if (restamp && (age > stamp_precision || age < -stamp_precision)) {
        // Failing to set a stamp is harmless: the stamp only stays old.
        if (operations_->touch(file.get()) == 0 &&
            operations_->attributes(file.get(), attributes) == 0) {
            result.record.identity = identity_of(attributes);
        }
    }
    return result;
}

Status TrustedFolder::make_parents(const std::string& name) const {
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        const auto parent = name.substr(0, slash);
        const auto make = [&] { return operations_->make_folder(folder_.get(), parent) == 0; };
        if (make()) continue;
        const int why = errno;
        os::FileAttributes attributes;
        const bool is_link = why == EEXIST &&
                             operations_->attributes_at(folder_.get(), parent, attributes) == 0 &&
                             attributes.kind == os::FileKind::link;
        // Nothing is read through a link, so its contents would be compiled again and again.
        if (is_link && operations_->remove(folder_.get(), parent) == 0 && make()) continue;
        if (why != EEXIST) return fail_from_errno("Creating a cache folder", path_ / parent, why);
    }
    return {};
}

Descriptor TrustedFolder::open_folder_of(const std::string& name) const noexcept {
    return open_inside(folder_of(name), os::Open::folder);
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
        if (!os::is_stale(problem) && problem != EEXIST) break;
    }
    return written;
}

Status TrustedFolder::try_replace(const std::string& name, const std::string& temporary,
                                  std::span<const std::byte> bytes) const {
    const std::string scratch = fmt::format("{}/{}.tmp", temporary, random_name());
    LODE_TRY_ASSIGN(Descriptor file, open_or_make(scratch, os::Open::writing | os::Open::only_new));
    const auto publish = [&]() -> Status {
        for (std::size_t done = 0; done < bytes.size();) {
            const auto put = operations_->write(file.get(), bytes.subspan(done));
            if (put < 0) return fail_from_errno("Writing to the cache", path_ / scratch, errno);
            done += static_cast<std::size_t>(put);
        }
        // Quota and network file systems may report a failed write only here.
        if (operations_->make_private(file.get()) != 0 || operations_->close(file.release()) != 0) {
            return fail_from_errno("Writing to the cache", path_ / scratch, errno);
        }
        return rename_to(scratch, name);
    };
    Status published = publish();
    if (!published) (void)operations_->remove(folder_.get(), scratch);
    return published;
}

Result<Descriptor> TrustedFolder::open_trusted(const std::string& name) const {
    Descriptor file = open_inside(name);
    if (!file && (leads_nowhere(errno) || errno == ENXIO)) return file;
    os::FileAttributes attributes;
    if (!file || operations_->attributes(file.get(), attributes) != 0)
        return fail_from_errno("Reading the cache", path_ / name, errno);
    return is_trustworthy(attributes, owner_) ? std::move(file) : Descriptor();
}

Status TrustedFolder::adopt(const std::string& temporary, const std::string& name) const {
    const Descriptor file = open_inside(temporary);
    if (!file || operations_->make_private(file.get()) != 0)
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
        if (!leads_nowhere(errno) || attempt == most_attempts)
            return fail_from_errno("Renaming in the cache", path_ / name, errno);
        LODE_TRY(make_parents(name));
    }
    return {};
}

void TrustedFolder::touch(const std::string& name) const noexcept {
    const Descriptor file = open_inside(name);
    if (file) (void)operations_->touch(file.get());
}

Status TrustedFolder::remove(const std::string& name) const {
    const Descriptor folder = open_folder_of(name);
    if (folder && operations_->remove(folder.get(), leaf_of(name)) == 0) return {};
    if (leads_nowhere(errno)) return {};
    return fail_from_errno("Removing from the cache", path_ / name, errno);
}

Status TrustedFolder::remove_folder(const std::string& name) const {
    const Descriptor folder = open_folder_of(name);
    if (folder && operations_->remove_folder(folder.get(), leaf_of(name)) == 0) return {};
    if (leads_nowhere(errno) || errno == ENOTEMPTY || errno == EEXIST) return {};
    return fail_from_errno("Removing from the cache", path_ / name, errno);
}

Status TrustedFolder::remove_if(const std::string& name, const FileIdentity& only,
                                const std::string& aside) const {
    os::FileAttributes attributes;
    // NFS may give a name the attributes of a file that had it before. A link, and a file that
    // mustn't be read, can't be opened.
    const auto look = [&](const std::string& at) {
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            const Descriptor file = open_inside(at);
            if (file && operations_->attributes(file.get(), attributes) == 0) return true;
            if (!os::is_stale(errno)) break;
        }
        return !is_absence(errno) && operations_->attributes_at(folder_.get(), at, attributes) == 0;
    };
    if (!look(name) || identity_of(attributes) != only) return {};
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
    if (!look(moved) || identity_of(attributes) != only) {
        // Fails if a newer file exists by now, which is just as good.
        (void)!operations_->link(folder_.get(), moved, folder.get(), leaf);
    }
    return remove(moved);
}

Result<Descriptor> TrustedFolder::open_shared(const std::string& name, os::Open extra_flags) const {
    return open_or_make(name, os::Open::updating | extra_flags);
}

Result<Descriptor> TrustedFolder::open_or_make(const std::string& name, os::Open flags) const {
    for (int attempt = 1;; ++attempt) {
        if (Descriptor file = open_inside(name, flags | os::Open::create)) return file;
        if (!leads_nowhere(errno) || attempt == most_attempts)
            return fail_from_errno("Opening a cache file", path_ / name, errno);
        LODE_TRY(make_parents(name));
    }
}

Status TrustedFolder::list(
    const std::string& folder,
    const std::function<void(const std::string&, const FileIdentity&)>& visit) const {
    const bool is_listed =
        os::list_folder(open_inside(folder, os::Open::folder),
                        [&](int here, const std::string& name, bool is_folder) {
                            os::FileAttributes attributes;
                            if (is_folder || is_left_open(name) ||
                                operations_->attributes_at(here, name, attributes) != 0 ||
                                attributes.kind == os::FileKind::folder) {
                                return;
                            }
                            visit(name, identity_of(attributes));
                        });
    if (is_listed || is_absence(errno)) return {};
    return fail_from_errno("Listing the cache", path_ / folder, errno);
}

Result<std::vector<std::string>> TrustedFolder::folders(const std::string& folder) const {
    std::vector<std::string> names;
    const bool is_listed = os::list_folder(
        open_inside(folder, os::Open::folder), [&](int here, const std::string& name, bool) {
            os::FileAttributes attributes;
            if (operations_->attributes_at(here, name, attributes) == 0 &&
                attributes.kind == os::FileKind::folder) {
                names.push_back(name);
            }
        });
    if (is_listed || is_absence(errno)) return names;
    return fail_from_errno("Listing the cache", path_ / folder, errno);
}

}  // namespace LODE_NAMESPACE::cache
