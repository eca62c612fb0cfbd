// Tensor memory: 128 lanes of 512 columns of 32 bits. Every block has its own.
#pragma once

#include "emulator/exec/warp_context.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace lode::emulator::exec {

/// What a product or a copy has written, for the race check: where and by whom.
struct TensorWrite {
    const Op* op = nullptr;  ///< nullptr: nothing, or registers were stored since.
    const Code* code = nullptr;
    u64 block = 0;
    u32 time = 0;
    u32 thread = 0;  ///< In its block.
};

struct TensorMemory {
    static constexpr u32 lane_count = 128;
    static constexpr u32 column_count = 512;
    static constexpr u32 unit = 32;  ///< Columns are allocated in units.

    std::vector<u32> cells = std::vector<u32>(std::size_t{lane_count} * column_count);
    std::array<u32, column_count / unit> sizes{};  ///< By an allocation's first unit, in units.
    u32 taken = 0;                                 ///< One bit for each unit.
    bool relinquished = false;
    u32 pair_allocations = 0;
    std::vector<bool> written;  ///< By cell, for the check of unwritten memory; empty without it.

    std::vector<TensorWrite> writes;  ///< By cell, for the race check; empty without it.

    [[nodiscard]] u32* at(u32 lane, u32 column) noexcept {
        return cells.data() + std::size_t{lane} * column_count + column;
    }
    void mark(u32 lane, u32 column, u32 count = 1) {
        if (written.empty()) return;
        const std::size_t first = std::size_t{lane} * column_count + column;
        std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(first), count, true);
    }
    void note(u32 lane, u32 column, u32 count, const TensorWrite& by) {
        if (writes.empty()) return;
        const std::size_t first = std::size_t{lane} * column_count + column;
        std::fill_n(writes.begin() + static_cast<std::ptrdiff_t>(first), count, by);
    }
    [[nodiscard]] bool is_written(std::size_t cell) const {
        return written.empty() || written[cell];
    }
    /// The columns that are allocated.
    [[nodiscard]] u32 allocated() const noexcept;
};

/// The tensor memory of a block in which lanes from `lane` on and columns from `column` on are
/// accessed; nullptr after a fault. `thread` is the lane of the warp, `verb` "reads" or "writes".
TensorMemory* tensor_memory_at(WarpContext& c, const Op* op, u32 thread, Block& block, u32 lane,
                               u32 lane_count, u32 column, u32 column_count, std::string_view verb);

/// The value that all lanes of a warp give for an operand of an operation on tensor memory; false
/// after a fault.
bool same_in_all_lanes(WarpContext& c, const Op* op, Slot slot, u32& value);

/// What a thread of the warp writes now. For the race check.
[[nodiscard]] TensorWrite tensor_write(const WarpContext& c, const Op* op, u32 lane);

/// A block of a pair: 0 for the even rank, 1 for the odd one; nullptr after a fault.
Block* block_of_pair(WarpContext& c, const Op* op, u32 thread, u32 index);

/// A cell that a product or a copy uses: a finding if nothing has written it.
void check_written(WarpContext& c, const Op* op, u32 thread, const TensorMemory& memory, u32 lane,
                   u32 column);

/// Fails the launch if a block that is done has tensor memory left.
void check_tensor_memory(Launch& launch, const Block& block);

}  // namespace lode::emulator::exec
