// The file in which the processes of a machine add up what they exchange with the remote cache.
#pragma once

#include "jit/store/disk_tier.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>

#include <cstdint>

namespace LODE_NAMESPACE::cache {

/// The sums over all processes that used the remote cache and have ended.
struct RemoteTraffic {
    std::uint64_t processes = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t faults = 0;
    std::uint64_t writes = 0;   ///< Records sent.
    std::uint64_t dropped = 0;  ///< Records not sent.
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;

    friend bool operator==(const RemoteTraffic&, const RemoteTraffic&) = default;
};

/// Adds one process's counters to the file; does nothing if the process hasn't used the remote
/// cache. Where the file system has no locks, sums of processes that end at the same time may be
/// lost. Errors: file_failed; timed_out if the file is locked for half a second.
[[nodiscard]] Status add_traffic(const TrustedFolder& folder, const CacheCounters& counters);

/// The sums; zeros if there is no such file, or if it is damaged. Errors: file_failed.
[[nodiscard]] Result<RemoteTraffic> read_traffic(const TrustedFolder& folder);

}  // namespace LODE_NAMESPACE::cache
