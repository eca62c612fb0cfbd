// The check for reads of bytes that nothing has written.
#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

std::string_view reading(Access access) {
    return access == Access::atomic ? "updates" : "reads";
}

[[gnu::cold]] void tell_unwritten_shared(WarpContext& c, const Op* op, u32 lane, u32 offset,
                                         const Noted& noted) {
    if (!c.launch->options->checks.init || !is_new_finding(c, op, Finding::unwritten)) return;
    tell_finding(c, op, lane, Finding::unwritten,
                 fmt::format("{} {} that the block hasn't written {}", reading(noted.access),
                             bytes_text(noted.bytes), shared_place(*c.launch, offset)));
}

[[gnu::cold]] void tell_unwritten_global(WarpContext& c, const Op* op, u32 lane, u64 address,
                                         std::size_t missing, const Noted& noted) {
    if (!c.launch->options->checks.init || !is_new_finding(c, op, Finding::unwritten)) return;
    const bool all = missing == noted.bytes;
    tell_finding(
        c, op, lane, Finding::unwritten,
        fmt::format("{} {} of {}global memory {}", reading(noted.access), bytes_text(noted.bytes),
                    all ? "unwritten " : "",
                    global_place(*c.launch, address, noted.bytes,
                                 all ? std::string()
                                     : fmt::format(", {} of them unwritten", missing))));
}

void init_lane(WarpContext& c, const Op* op, u32 lane, bool shared, u64 address,
               const Noted& noted) {
    const bool reads = noted.access != Access::write;
    const bool writes = noted.access != Access::read;
    if (!shared) {
        if (c.written == nullptr) return;
        if (reads) {
            const std::size_t missing = c.written->unwritten(address, noted.bytes);
            if (missing != 0) tell_unwritten_global(c, op, lane, address, missing, noted);
        }
        if (writes) c.written->mark(address, noted.bytes);
        return;
    }
    if (address + noted.bytes > c.shared_bytes) return;
    u8* const marks = c.shared_written + address;
    if (reads && std::find(marks, marks + noted.bytes, u8{0}) != marks + noted.bytes)
        tell_unwritten_shared(c, op, lane, static_cast<u32>(address), noted);
    if (writes) std::fill_n(marks, noted.bytes, u8{1});
}

/// Whether all of a run's bytes are written, or makes them so.
bool init_run(WarpContext& c, bool shared, u64 address, u32 bytes, bool writes) {
    if (!shared) {
        if (c.written == nullptr) return true;
        if (!writes) return c.written->unwritten(address, bytes) == 0;
        c.written->mark(address, bytes);
        return true;
    }
    if (address + bytes > c.shared_bytes) return true;
    u8* const marks = c.shared_written + address;
    if (writes) {
        std::fill_n(marks, bytes, u8{1});
        return true;
    }
    u8 all = 1;
    for (u32 k = 0; k < bytes; ++k)
        all &= marks[k];
    return all != 0;
}

}  // namespace

void init_lanes(WarpContext& c, const Op* op, bool shared, const u64* addresses,
                const Noted& noted) {
    each_lane(c.mask, [&](u32 i) { init_lane(c, op, i, shared, addresses[i], noted); });
}

void init_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted) {
    const bool writes = noted.access == Access::write;
    const bool uniform = pattern == Pattern::uniform || pattern == Pattern::half_uniform;
    const bool halves = pattern == Pattern::half_runs || pattern == Pattern::half_uniform;
    const u32 count = halves ? lanes / 2 : lanes;
    const u32 bytes = uniform ? noted.bytes : noted.bytes * count;
    bool fine = init_run(c, shared, first, bytes, writes);
    if (halves) fine &= init_run(c, shared, second, bytes, writes);
    if (fine) return;
    for (u32 i = 0; i < lanes; ++i) {
        const u64 base = halves && i >= count ? second : first;
        init_lane(c, op, i, shared, base + (uniform ? 0 : u64{i % count} * noted.bytes), noted);
    }
}

}  // namespace lode::emulator::exec
