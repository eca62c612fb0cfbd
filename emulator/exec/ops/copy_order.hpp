// What asynchronous copies tell the race check.
#pragma once

#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/order.hpp"

#include <utility>

namespace lode::emulator::exec {

/// Tells the race check of a copy as a whole: the accesses of its parts aren't the thread's own.
/// What lies in the memory of other blocks isn't checked.
class CopyOrder {
public:
    explicit CopyOrder(WarpContext& c) : c_(c), race_(c.race) { c.race = false; }
    ~CopyOrder() { c_.race = race_; }
    CopyOrder(const CopyOrder&) = delete;
    CopyOrder& operator=(const CopyOrder&) = delete;
    void add(const Op* op, u32 lane, u64 address, u32 bytes, bool shared, bool reads, CopyEnd end) {
        if (race_) order_copy(c_, op, lane, address, bytes, shared, reads, end);
    }
    /// One side of a copy, whose first byte has the host address `at`.
    void add_at(const Op* op, u32 lane, const u8* at, u64 address, u32 bytes, bool shared,
                bool reads, CopyEnd end) {
        if (shared && !is_own_shared(c_, at)) return;
        if (race_ && shared && reads)
            order_proxy_read(c_, op, lane, static_cast<u32>(at - c_.shared), bytes);
        add(op, lane, shared ? static_cast<u64>(at - c_.shared) : address, bytes, shared, reads,
            end);
    }
    /// A copy's bytes arrive at an mbarrier.
    void arrive(const Op* op, u32 lane, const u8* at, bool completes) {
        if (!race_ || !is_own_shared(c_, at)) return;
        const auto address = static_cast<u64>(at - c_.shared);
        race_lanes_of(op, lane, address);
        order_phase(c_, *c_.block->order, lane, address,
                    {.arrives = true, .completes = completes, .copied = true});
    }

private:
    void race_lanes_of(const Op* op, u32 lane, u64 address) {
        alignas(32) u64 addresses[lanes] = {};
        addresses[lane] = address;
        const u32 mask = std::exchange(c_.mask, 1u << lane);
        race_lanes(c_, op, true, addresses, {Access::atomic, 8, nullptr});
        c_.mask = mask;
    }
    WarpContext& c_;
    const bool race_;
};

}  // namespace lode::emulator::exec
