// Tensor memory: whose it is, and its allocation.
#include "emulator/exec/ops/memory/memory.hpp"

#include "emulator/exec/ops/control/whole_warp.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/exec/tensor_memory.hpp"
#include "emulator/isa/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace lode::emulator::exec {

u32 TensorMemory::allocated() const noexcept {
    return static_cast<u32>(std::popcount(taken)) * unit;
}

TensorMemory* tensor_memory_at(WarpContext& c, const Op* op, u32 thread, Block& block, u32 lane,
                               u32 lane_count, u32 column, u32 column_count,
                               std::string_view verb) {
    const auto fault = [&](std::string_view why) -> TensorMemory* {
        raise(c, op, thread, Fault::illegal_address,
              fmt::format("{} tensor memory, {}\naddress: columns {} to {} of lanes {} to {}", verb,
                          why, column, column + column_count - 1, lane, lane + lane_count - 1));
        return nullptr;
    };
    if (lane + lane_count > TensorMemory::lane_count ||
        column + column_count > TensorMemory::column_count)
        return fault("which has 128 lanes and 512 columns");
    TensorMemory* const memory = block.tensor_memory.get();
    const u32 first = column / TensorMemory::unit;
    const u32 last = (column + column_count - 1) / TensorMemory::unit;
    const u32 units = ((2u << last) - 1) & ~((1u << first) - 1);
    if (memory == nullptr || (c.check_memory && (units & ~memory->taken) != 0))
        return fault("which aren't allocated");
    return memory;
}

Block* block_of_pair(WarpContext& c, const Op* op, u32 thread, u32 index) {
    const Cluster& cluster = *c.block->cluster;
    const u32 rank = (c.block->rank & ~1u) | index;
    if (rank < cluster.count) return cluster.blocks[rank];
    raise(
        c, op, thread, Fault::illegal_instruction,
        fmt::format("executes an operation of a pair of blocks in a cluster of {}", cluster.count));
    return nullptr;
}

bool same_in_all_lanes(WarpContext& c, const Op* op, Slot slot, u32& value) {
    const u32* const values = source<u32>(c, slot);
    value = values[0];
    for (u32 i = 1; i < lanes; ++i) {
        if (values[i] == value) continue;
        raise(c, op, i, Fault::illegal_instruction,
              fmt::format("executes an operation on tensor memory with operands that differ in the "
                          "warp\noperands: 0x{:x}, and 0x{:x} of lane 0",
                          values[i], value));
        return false;
    }
    return true;
}

namespace {

const Op* allocation_fault(WarpContext& c, const Op* op, std::string text) {
    return raise(c, op, 0, Fault::illegal_instruction, std::move(text));
}

}  // namespace

const Op* allocate_tensor_memory(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    u32 columns = 0;
    if (!same_in_all_lanes(c, op, op->r[2], columns)) return leave();
    if (columns < TensorMemory::unit || columns > TensorMemory::column_count ||
        !std::has_single_bit(columns)) {
        return allocation_fault(c, op,
                                fmt::format("allocates {} columns of tensor memory, which isn't a "
                                            "power of two from 32 to 512",
                                            columns));
    }
    auto& memory = c.block->tensor_memory;
    if (!memory) memory = std::make_shared<TensorMemory>();
    if (memory->relinquished)
        return allocation_fault(c, op, "allocates tensor memory after giving up the right to");
    const u32 count = columns / TensorMemory::unit;
    const u32 units = (1u << count) - 1;
    constexpr u32 all_units = TensorMemory::column_count / TensorMemory::unit;
    u32 first = 0;
    while (first < all_units && (memory->taken & units << first) != 0)
        first += count;
    if (first >= all_units) return park(c, allocation_wait, op);
    u8* const to =
        lane_pointer(c, op, 0, source<u64>(c, op->r[1])[0], 4, Window::shared, Access::write);
    if (to == nullptr) return leave();
    memory->taken |= units << first;
    if (c.race) memory->writes.resize(memory->cells.size());
    if (c.init) {
        memory->written.resize(memory->cells.size());
        for (u32 lane = 0; lane < TensorMemory::lane_count; ++lane) {
            const std::size_t offset = std::size_t{lane} * TensorMemory::column_count +
                                       std::size_t{first} * TensorMemory::unit;
            const auto row = memory->written.begin() + static_cast<std::ptrdiff_t>(offset);
            std::fill_n(row, columns, false);
        }
    } else {
        memory->written.clear();
    }
    memory->sizes[first] = count;
    if (op->flags.as<TensorBlocks>() == TensorBlocks::pair) {
        ++memory->pair_allocations;
        if (c.block->rank + 1 < c.block->cluster->count || c.block->rank % 2 != 0)
            wake_allocations(*c.block->cluster->blocks[c.block->rank ^ 1]);
    }
    const u32 address = first * TensorMemory::unit;
    std::memcpy(to, &address, sizeof address);
    return op + 1;
}

const Op* await_pair_allocation(WarpContext& c, const Op* op) {
    const Block* const other = block_of_pair(c, op, 0, ~c.block->rank & 1);
    if (other == nullptr) return leave();
    const u32 made = other->tensor_memory ? other->tensor_memory->pair_allocations : 0;
    if (made >= c.block->tensor_memory->pair_allocations) return op + 1;
    if (other->live_threads != 0) return park(c, allocation_wait, op);
    return allocation_fault(
        c, op, "allocates tensor memory for a pair of blocks, of which the other one has exited");
}

const Op* free_tensor_memory(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    u32 address = 0;
    u32 columns = 0;
    if (!same_in_all_lanes(c, op, op->r[1], address) ||
        !same_in_all_lanes(c, op, op->r[2], columns))
        return leave();
    TensorMemory* const memory = c.block->tensor_memory.get();
    const u32 first = address / TensorMemory::unit;
    const bool is_start = memory != nullptr && address % TensorMemory::unit == 0 &&
                          first < memory->sizes.size() && memory->sizes[first] != 0;
    if (!is_start) {
        return allocation_fault(
            c, op,
            fmt::format("frees tensor memory at 0x{:x}, where no allocation begins", address));
    }
    const u32 count = memory->sizes[first];
    if (columns != count * TensorMemory::unit) {
        return allocation_fault(c, op,
                                fmt::format("frees {} columns of tensor memory at 0x{:x}, where {} "
                                            "are allocated",
                                            columns, address, count * TensorMemory::unit));
    }
    memory->taken &= ~(((1u << count) - 1) << first);
    memory->sizes[first] = 0;
    wake_allocations(*c.block);
    return op + 1;
}

const Op* relinquish_tensor_memory(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    auto& memory = c.block->tensor_memory;
    if (!memory) memory = std::make_shared<TensorMemory>();
    memory->relinquished = true;
    return op + 1;
}

void check_tensor_memory(Launch& launch, const Block& block) {
    const TensorMemory* const memory = block.tensor_memory.get();
    if (memory == nullptr || memory->taken == 0 || !launch.options->checks.memory) return;
    FindingReport place = report_of_kernel(launch);
    place.kind = "fault";
    describe(launch, place,
             fmt::format("ends with {} columns of tensor memory allocated\nblock: ({},{},{})",
                         memory->allocated(), block.index.x, block.index.y, block.index.z));
    launch.fail(Fault::launch_failed, std::move(place));
}

}  // namespace lode::emulator::exec
