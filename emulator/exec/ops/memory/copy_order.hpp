// What asynchronous copies tell the race check.
#pragma once

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/memory/memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

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
        if (!race_) return;
        const bool own = is_own_shared(c_, at);
        Block& owner = own ? *c_.block : owner_of_shared(c_, at);
        const auto address = static_cast<u64>(at - owner.shared.data());
        if (own) race_lanes_of(op, lane, address);
        order_phase(c_, *owner.order, lane, address,
                    {.arrives = true, .completes = completes, .copied = true});
    }
    [[nodiscard]] bool is_checked() const noexcept { return race_; }

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

/// The bytes of a copy that moves them piece by piece.
class CopiedBytes {
public:
    void add(u64 address, u32 bytes) {
        if (!ranges_.empty() && ranges_.back().address + ranges_.back().bytes == address) {
            ranges_.back().bytes += bytes;
        } else {
            ranges_.push_back({address, bytes});
        }
    }
    /// Tells the race check of them, in as few ranges as possible.
    void tell(CopyOrder& order, const Op* op, u32 lane, bool shared, bool reads, CopyEnd end) {
        std::ranges::sort(ranges_, {}, &Range::address);
        for (std::size_t first = 0; first < ranges_.size();) {
            u64 stop = ranges_[first].address;
            const u64 start = stop;
            for (; first < ranges_.size() && ranges_[first].address <= stop; ++first)
                stop = std::max(stop, ranges_[first].address + ranges_[first].bytes);
            // Granules that the copy takes only a part of are left out.
            const u64 whole = (start + 3) / 4 * 4;
            if (stop / 4 * 4 <= whole) continue;
            order.add(op, lane, whole, static_cast<u32>(stop / 4 * 4 - whole), shared, reads, end);
        }
    }

private:
    struct Range {
        u64 address;
        u32 bytes;
    };
    std::vector<Range> ranges_;
};

}  // namespace lode::emulator::exec
