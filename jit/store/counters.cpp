#include "jit/store/counters.hpp"

namespace LODE_NAMESPACE::cache {

CacheCounters AtomicCounters::snapshot() const {
    CacheCounters counters;
    counters.memory_hits = memory_hits;
    counters.disk_hits = disk_hits;
    counters.pack_hits = pack_hits;
    counters.remote_hits = remote_hits;
    counters.remote_misses = remote_misses;
    counters.remote_faults = remote_faults;
    counters.remote_writes = remote_writes;
    counters.remote_dropped = remote_dropped;
    counters.new_requests = new_requests;
    counters.changed_headers = changed_headers;
    counters.lost_entries = lost_entries;
    counters.compilations = compilations;
    counters.failures = failures;
    counters.replayed_failures = replayed_failures;
    counters.refused = refused;
    counters.not_kept = not_kept;
    counters.shared = shared;
    counters.waits = waits;
    counters.repairs = repairs;
    counters.untrusted = untrusted;
    counters.faults = faults;
    counters.bytes_read = bytes_read;
    counters.bytes_written = bytes_written;
    counters.remote_bytes_read = remote_bytes_read;
    counters.remote_bytes_written = remote_bytes_written;
    counters.saved_milliseconds = static_cast<double>(saved_microseconds.load()) / 1000.0;
    return counters;
}

}  // namespace LODE_NAMESPACE::cache
