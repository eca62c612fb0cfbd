// The counters of a CachedCompiler, updated from several threads.
#pragma once

#include <lode/jit/cache.hpp>

#include <atomic>
#include <cstdint>

namespace LODE_NAMESPACE::cache {

/// CacheCounters with one atomic per counter.
struct AtomicCounters {
    using Count = std::atomic<std::uint64_t>;

    Count memory_hits{0}, disk_hits{0}, pack_hits{0}, remote_hits{0};
    Count new_requests{0}, changed_headers{0}, lost_entries{0};
    Count compilations{0}, failures{0}, replayed_failures{0}, refused{0}, not_kept{0};
    Count shared{0}, waits{0}, repairs{0}, untrusted{0}, faults{0};
    Count remote_misses{0}, remote_faults{0}, remote_writes{0}, remote_dropped{0};
    Count bytes_read{0}, bytes_written{0};
    Count remote_bytes_read{0}, remote_bytes_written{0};
    Count saved_microseconds{0};

    [[nodiscard]] CacheCounters snapshot() const;
};

}  // namespace LODE_NAMESPACE::cache
