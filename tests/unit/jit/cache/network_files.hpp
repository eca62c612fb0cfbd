// NetworkFiles: the files of a machine that mounts a folder by NFS, with the faults that its manual
// and its users report. Each machine of a test has one; the folder below is a local one.
#pragma once

#include "base/os/file_operations.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {

/// How often each fault occurs, in one of a thousand calls that it can befall.
struct NetworkFaults {
    int stale_handle = 50;       ///< ESTALE of an open, a read, a write, fstat, utimes.
    int lost_reply = 300;        ///< A call that succeeds reports a failure.
    int stale_attributes = 300;  ///< Attributes are those of the last time somebody asked.
    int stale_absence = 300;     ///< A name that was absent still is, for a while.
    int no_locks = 300;          ///< ENOLCK
    int short_transfer = 200;    ///< A read or write of fewer bytes.
};

/// Thread-safe.
class NetworkFiles final : public os::FileOperations {
public:
    NetworkFiles(std::uint32_t seed, NetworkFaults faults) : faults_(faults), random_(seed) {}

    /// Faults so far; a test that has none shows nothing.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    int open(int folder, const std::string& name, os::Open flags) const noexcept override {
        if (befalls_handle()) return fail_with(ESTALE);
        const bool creates = os::has(flags, os::Open::create);
        const auto place = std::pair(inode_of(folder), name);
        {
            const std::lock_guard guard(mutex_);
            if (!creates && absent_.contains(place) && draw(faults_.stale_absence))
                return fault(ENOENT);
            absent_.erase(place);
        }
        const int file = FileOperations::open(folder, name, flags);
        const int why = errno;
        if (file >= 0 && os::has(flags, os::Open::only_new) && loses_reply()) {
            os::close_file(file);
            return fault(EEXIST);
        }
        const std::lock_guard guard(mutex_);
        if (file < 0 && why == ENOENT) absent_.insert(place);
        if (file >= 0) fresh_.insert(file);
        errno = why;
        return file;
    }
    int attributes(int file, os::FileAttributes& status) const noexcept override {
        if (befalls_handle()) return fail_with(ESTALE);
        os::FileAttributes now;
        if (FileOperations::attributes(file, now) != 0) return -1;
        const std::lock_guard guard(mutex_);
        const auto [known, is_new] = attributes_.try_emplace({now.device, now.number}, now);
        // An open asks the server.
        const bool is_fresh = fresh_.erase(file) > 0;
        status = is_fresh || is_new || !draw(faults_.stale_attributes) ? now : known->second;
        if (status.modified_ns != now.modified_ns || status.size != now.size) ++count_;
        known->second = status;
        return 0;
    }
    int attributes_at(int folder, const std::string& name,
                      os::FileAttributes& status) const noexcept override {
        os::FileAttributes now;
        if (FileOperations::attributes_at(folder, name, now) != 0) return -1;
        const auto place = std::pair(inode_of(folder), name);
        const std::lock_guard guard(mutex_);
        const auto [known, is_new] = named_.try_emplace(place, now);
        status = is_new || !draw(faults_.stale_attributes) ? now : known->second;
        if (status.number != now.number) ++count_;
        known->second = status;
        return 0;
    }
    std::ptrdiff_t read(int file, std::span<std::byte> into) const noexcept override {
        if (befalls_handle()) return fail_with(ESTALE);
        return FileOperations::read(file, into.first(transfer(into.size())));
    }
    std::ptrdiff_t write(int file, std::span<const std::byte> bytes) const noexcept override {
        if (befalls_handle()) return fail_with(ESTALE);
        return FileOperations::write(file, bytes.first(transfer(bytes.size())));
    }
    int touch(int file) const noexcept override {
        if (befalls_handle()) return fail_with(ESTALE);
        return FileOperations::touch(file);
    }
    int rename(int from_folder, const std::string& from, int to_folder,
               const std::string& to) const noexcept override {
        if (befalls_handle()) return fail_with(ESTALE);
        keep_open_file(to_folder, to);
        const int done = FileOperations::rename(from_folder, from, to_folder, to);
        if (done == 0) forget_absence(to_folder, to);
        return done == 0 && loses_reply() ? fail_with(is_odd() ? ENOENT : EIO) : done;
    }
    int link(int from_folder, const std::string& from, int to_folder,
             const std::string& to) const noexcept override {
        const int done = FileOperations::link(from_folder, from, to_folder, to);
        return done == 0 && loses_reply() ? fail_with(EEXIST) : done;
    }
    int remove(int folder, const std::string& name) const noexcept override {
        keep_open_file(folder, name);
        const int done = FileOperations::remove(folder, name);
        return done == 0 && loses_reply() ? fail_with(ENOENT) : done;
    }
    int remove_folder(int folder, const std::string& name) const noexcept override {
        const int done = FileOperations::remove_folder(folder, name);
        return done == 0 && loses_reply() ? fail_with(ENOENT) : done;
    }
    int make_folder(int folder, const std::string& name) const noexcept override {
        const int done = FileOperations::make_folder(folder, name);
        // Its own calls tell a machine what is there.
        forget_absence(folder, name);
        return done == 0 && loses_reply() ? fail_with(EEXIST) : done;
    }
    int lock_file(int file) const noexcept override {
        return has_no_locks() ? fail_with(ENOLCK) : FileOperations::lock_file(file);
    }
    int lock_byte(int file, std::int64_t offset) const noexcept override {
        return has_no_locks() ? fail_with(ENOLCK) : FileOperations::lock_byte(file, offset);
    }

private:
    using Place = std::pair<std::uint64_t, std::string>;

    bool draw(int per_mille) const {
        return std::uniform_int_distribution<int>(0, 999)(random_) < per_mille;
    }
    bool is_odd() const {
        const std::lock_guard guard(mutex_);
        return draw(500);
    }
    int fault(int error_number) const noexcept {
        ++count_;
        errno = error_number;
        return -1;
    }
    int fail_with(int error_number) const noexcept { return fault(error_number); }
    /// These faults are rare on real servers; after one, a thread has no other of its kind for some
    /// calls, so that it never meets it as often as lode repeats a call.
    bool befalls(int per_mille, int& quiet_calls) const {
        constexpr int pause = 30;
        if (quiet_calls > 0) {
            --quiet_calls;
            return false;
        }
        const std::lock_guard guard(mutex_);
        if (!draw(per_mille)) return false;
        quiet_calls = pause;
        return true;
    }
    bool befalls_handle() const {
        thread_local int quiet_calls = 0;
        return befalls(faults_.stale_handle, quiet_calls);
    }
    bool loses_reply() const {
        thread_local int quiet_calls = 0;
        return befalls(faults_.lost_reply, quiet_calls);
    }
    bool has_no_locks() const {
        const std::lock_guard guard(mutex_);
        return draw(faults_.no_locks);
    }
    std::size_t transfer(std::size_t size) const {
        const std::lock_guard guard(mutex_);
        if (size < 2 || !draw(faults_.short_transfer)) return size;
        return std::uniform_int_distribution<std::size_t>(1, size - 1)(random_);
    }
    void forget_absence(int folder, const std::string& name) const {
        const std::lock_guard guard(mutex_);
        absent_.erase({inode_of(folder), name});
    }
    /// A file that loses its name while somebody may have it open keeps one of NFS's.
    void keep_open_file(int folder, const std::string& name) const {
        std::uint32_t number = 0;
        {
            const std::lock_guard guard(mutex_);
            if (!draw(faults_.lost_reply)) return;
            number = static_cast<std::uint32_t>(random_());
        }
        const auto slash = name.rfind('/');
        const auto parent = slash == std::string::npos ? "" : name.substr(0, slash + 1);
        if (FileOperations::link(folder, name, folder,
                                 fmt::format("{}.nfs{:016x}", parent, number)) == 0)
            ++count_;
    }
    static std::uint64_t inode_of(int folder) noexcept {
        os::FileAttributes status;
        return os::attributes_of(folder, status) ? status.number : 0;
    }

    const NetworkFaults faults_;
    mutable std::mutex mutex_;
    mutable std::mt19937 random_;
    mutable std::set<int> fresh_;  ///< Files that were opened and not yet asked.
    mutable std::set<Place> absent_;
    mutable std::map<std::pair<std::uint64_t, std::uint64_t>, os::FileAttributes> attributes_;
    mutable std::map<Place, os::FileAttributes> named_;
    mutable std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace LODE_NAMESPACE::cache
