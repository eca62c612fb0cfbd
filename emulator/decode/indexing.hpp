// Which loads and stores access an element of an array by an index, so that one op makes the
// address and uses it.
#pragma once

#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/frame.hpp"

#include <optional>
#include <vector>

namespace lode::emulator::decode {

/// base + index * scale + offset, in 64 bits.
struct IndexedAddress {
    u32 address = 0;      ///< The register that the program makes it in.
    Slot base = no_slot;  ///< The same in every lane, for a whole launch.
    u32 index = 0;        ///< A register of 32 bits.
    u32 scale = 1;
    bool sign = false;  ///< The index is signed.
    u64 offset = 0;
};

struct Indexing {
    /// By instruction: what its address is made of.
    std::vector<std::optional<IndexedAddress>> accesses;
    /// By instruction: whether its result is only part of such addresses.
    std::vector<bool> unneeded;
};

/// Finds ld and st of global and shared memory with addresses that add.s64 made of a base and an
/// index, widened by mul.wide or cvt. `frame` has the slots of registers.
[[nodiscard]] Indexing find_indexed_accesses(const FlowGraph& graph, const Frame& frame);

}  // namespace lode::emulator::decode
