// Live ranges: where in a function the values of its registers may still be read.
#pragma once

#include "emulator/decode/indexing.hpp"

#include <vector>

namespace lode::emulator::decode {

/// The instructions from the first to the last, both included, at which a register's slot must be
/// its own: a write of the slot elsewhere overwrites nothing that is read later. Empty, that is,
/// first > last, for a register that no op names.
struct LiveRange {
    u32 first = ~u32{0};
    u32 last = 0;

    void include(u32 at) noexcept {
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    void include(const LiveRange& other) noexcept {
        first = other.first < first ? other.first : first;
        last = other.last > last ? other.last : last;
    }
};

/// By register of the function. A register is live from a definition to the last use that it may
/// reach, along the branches of one lane: handlers write the slots of active lanes only. A
/// definition that doesn't set the whole register in every active lane ends no life. Time is linear
/// in the length of the function: once a limit is reached, the remaining registers that are live in
/// several blocks get the whole function.
[[nodiscard]] std::vector<LiveRange> live_ranges(const FlowGraph& graph, const Indexing& indexing);

}  // namespace lode::emulator::decode
