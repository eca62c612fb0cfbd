// DiskTier: the user's cache folder.
//
//   <folder>/CACHEDIR.TAG                           tells backup programs to skip the folder
//   <folder>/v6/<kind>/<2 hex digits>/<62 hex digits>   one record (tier.hpp names the kinds)
//   <folder>/v6/tmp/<16 hex digits>.tmp             a file being written or removed
//   <folder>/v6/pch/…                               precompiled headers (jit/pch/store.hpp)
//   <folder>/v6/sources/…                           code in memory, as files (source_folder.hpp)
//   <folder>/v6/growth                              one byte per 4 KiB written since the last sweep
//   <folder>/v6/remote_traffic                      sums of remote/traffic_file.hpp
//   <folder>/v6/sweep.lock, locks                   held while sweeping; see key_lock.hpp
//
// A record's modification time is the cache's own stamp of its last use, precise to an hour. When
// the growth file shows that a sixteenth of the bound was written, the writer that crossed the
// limit sweeps: the oldest records and folders of sources are removed until seven eighths of the
// bound are left. The bound holds, hits never pay for it, and puts list the folder once per
// sixteenth of the bound.
#pragma once

#include "jit/store/tier.hpp"
#include "jit/store/trusted_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace LODE_NAMESPACE::cache {

/// The result of a sweep.
struct SweepReport {
    std::uint64_t records = 0;  ///< Before the sweep.
    std::uint64_t bytes = 0;    ///< Before the sweep, with sources; in blocks of 4 KiB.
    std::uint64_t removed_records = 0;
    std::uint64_t removed_bytes = 0;
    std::uint64_t removed_temporaries = 0;
};

/// Thread-safe, and safe for any number of processes that use the same folder.
class DiskTier final : public Tier {
public:
    /// Opens the folder; makes it unless `writable` is false. `operations` must outlive the tier.
    /// Errors: those of TrustedFolder::open.
    [[nodiscard]] static Result<std::unique_ptr<DiskTier>> open(
        const std::filesystem::path& path, bool writable, std::uint64_t max_bytes,
        const os::FileOperations& operations = os::FileOperations::system());

    [[nodiscard]] std::string_view name() const noexcept override { return "disk"; }
    [[nodiscard]] bool writable() const noexcept override { return writable_; }
    [[nodiscard]] Result<std::optional<Record>> get(const RecordKey& key) override;
    [[nodiscard]] Status put(const RecordKey& key, std::span<const std::byte> bytes) override;
    [[nodiscard]] Status remove(const RecordKey& key, const FileIdentity* only) override;

    /// get() that neither renews the record's stamp nor removes anything. Errors: file_failed.
    [[nodiscard]] Result<std::optional<Record>> peek(const RecordKey& key) const;

    [[nodiscard]] const TrustedFolder& folder() const noexcept { return folder_; }
    [[nodiscard]] std::uint64_t max_bytes() const noexcept { return max_bytes_; }

    /// Calls `visit` for every record of a kind, in no particular order. Errors: file_failed.
    [[nodiscard]] Status for_each(
        RecordKind kind,
        const std::function<void(const RecordKey&, const FileIdentity&)>& visit) const;

    /// Notes that bytes were written; sweeps where that crosses the limit. Errors: file_failed.
    [[nodiscard]] Status note_growth(std::uint64_t bytes) const;

    /// Removes temporary files older than an hour, then the least recently used records and
    /// folders of sources until at most `target_bytes` are left. nullopt if another process is
    /// sweeping. Errors: file_failed.
    [[nodiscard]] Result<std::optional<SweepReport>> sweep(std::uint64_t target_bytes) const;

    /// Removes every record, every precompiled header, all sources and the sums of traffic. Errors:
    /// file_failed.
    [[nodiscard]] Status clear() const;

private:
    DiskTier(TrustedFolder folder, bool writable, std::uint64_t max_bytes)
        : folder_(std::move(folder)), writable_(writable), max_bytes_(max_bytes) {}

    TrustedFolder folder_;
    bool writable_;
    std::uint64_t max_bytes_;
};

/// Paths of the layout above, relative to the cache folder.
std::string record_path(const RecordKey& key);
inline constexpr const char* version_folder = "v6";
inline constexpr const char* temporary_folder = "v6/tmp";
inline constexpr const char* lock_file = "v6/locks";
inline constexpr const char* pch_folder = "v6/pch";
inline constexpr const char* traffic_file = "v6/remote_traffic";

}  // namespace LODE_NAMESPACE::cache
