// Moves between tensor memory and registers, from shared memory, and inside tensor memory.
#include "emulator/exec/ops/control/whole_warp.hpp"
#include "emulator/exec/ops/matrix/descriptor.hpp"
#include "emulator/exec/ops/memory/bulk.hpp"
#include "emulator/exec/ops/memory/mbarrier.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/exec/tensor_memory.hpp"
#include "emulator/isa/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace lode::emulator::exec {

// Registers -------------------------------------------------------------------------------------

namespace {

/// The cells of a move from its address on; nullptr after a fault. A warp has a quarter of the
/// lanes.
u32* cells_of_warp(WarpContext& c, const Op* op, const TensorRegisters& move,
                   std::string_view verb) {
    u32 address = 0;
    if (!same_in_all_lanes(c, op, op->r[1], address)) return nullptr;
    const u32 lane = address >> 16;
    const u32 column = address & 0xffff;
    const u32 first = c.warp->index % 4 * lanes;
    if (lane < first || lane + move.rows > first + lanes) {
        raise(
            c, op, 0, Fault::illegal_address,
            fmt::format("{} lanes of tensor memory that another warp has\naddress: lanes {} to {}; "
                        "warp {} has lanes {} to {}",
                        verb, lane, lane + move.rows - 1, c.warp->index, first, first + lanes - 1));
        return nullptr;
    }
    TensorMemory* const memory =
        tensor_memory_at(c, op, 0, *c.block, lane, move.rows, column, move.columns, verb);
    return memory != nullptr ? memory->at(lane, column) : nullptr;
}

std::size_t cell_index(u32 cell) noexcept {
    return std::size_t{cell >> 16} * TensorMemory::column_count + (cell & 0xffff);
}

f32 reduced_float(f32 a, f32 b, bool greatest, bool keeps_nan) noexcept {
    if (std::isnan(a) || std::isnan(b)) {
        if (keeps_nan || (std::isnan(a) && std::isnan(b))) return std::bit_cast<f32>(0x7fff'ffffu);
        return std::isnan(a) ? b : a;
    }
    if (a == b) return (std::signbit(a) == greatest) ? b : a;  // -0 is less than +0.
    return (a < b) == greatest ? b : a;
}

u32 reduced_pair(const TensorRegisters& move, u32 a, u32 b) noexcept {
    const auto x = static_cast<i32>(a);
    const auto y = static_cast<i32>(b);
    switch (move.reduction) {
        case TensorReduction::u32_min:
            return std::min(a, b);
        case TensorReduction::u32_max:
            return std::max(a, b);
        case TensorReduction::s32_min:
            return static_cast<u32>(std::min(x, y));
        case TensorReduction::s32_max:
            return static_cast<u32>(std::max(x, y));
        default:
            return std::bit_cast<u32>(reduced_float(std::bit_cast<f32>(a), std::bit_cast<f32>(b),
                                                    move.reduction == TensorReduction::f32_max,
                                                    move.keeps_nan));
    }
}

void reduce_registers(WarpContext& c, const TensorRegisters& move,
                      const std::vector<std::array<u32, lanes>>& values) {
    u32* const to = destination<u32>(c, move.reduced);
    const u32 mask = move.of_magnitudes ? 0x7fff'ffff : ~u32{0};
    for (std::size_t i = 0; i < lanes; ++i) {
        u32 all = values[0][i] & mask;
        for (std::size_t k = 1; k < values.size(); ++k)
            all = reduced_pair(move, all, values[k][i] & mask);
        to[i] = all;
    }
}

/// Threads may load cells that they don't use, so that only a load of nothing else is a finding.
void check_loaded(WarpContext& c, const Op* op, const TensorRegisters& move,
                  const TensorMemory& memory, std::size_t base) {
    for (const u32 cell : move.cells) {
        if (memory.is_written(base + cell_index(cell))) return;
    }
    if (!is_new_finding(c, op, Finding::unwritten)) return;
    report_finding(
        c, op, 0, Finding::unwritten,
        fmt::format(
            "reads tensor memory that nothing has written\naddress: from lane {}, column {} on",
            base / TensorMemory::column_count, base % TensorMemory::column_count));
}

}  // namespace

void check_written(WarpContext& c, const Op* op, u32 thread, const TensorMemory& memory, u32 lane,
                   u32 column) {
    if (memory.is_written(std::size_t{lane} * TensorMemory::column_count + column)) return;
    if (!is_new_finding(c, op, Finding::unwritten)) return;
    report_finding(
        c, op, thread, Finding::unwritten,
        fmt::format("uses tensor memory that nothing has written\naddress: lane {}, column {}",
                    lane, column));
}

TensorWrite tensor_write(const WarpContext& c, const Op* op, u32 lane) {
    if (c.launch->accesses == nullptr) return {};
    const BlockOrder& order = *c.block->order;
    return {op, c.frame->code, order.block, order.time, c.warp->index * lanes + lane};
}

namespace {

/// What products and copies write is there once a commit's mbarrier has been waited for, by any
/// lane of the warp.
void check_complete(WarpContext& c, const Op* op, const TensorRegisters& move,
                    const TensorMemory& memory, std::size_t base) {
    const BlockOrder& order = *c.block->order;
    if (order.spent) return;
    const TensorWrite* last = nullptr;
    for (const u32 cell : move.cells) {
        const TensorWrite& write = memory.writes[base + cell_index(cell)];
        const bool same = last != nullptr && last->op == write.op && last->time == write.time &&
                          last->thread == write.thread;
        if (write.op == nullptr || same) continue;
        last = &write;
        const Stamp stamp = stamp_of(0, write.time, 0, write.thread) | stamp_async;
        bool known = false;
        each_lane(c.mask, [&](u32 i) {
            known = known || order.ordered(c.warp->index, i, stamp, write.block);
        });
        if (known || !is_new_finding(c, op, Finding::race)) continue;
        const std::size_t at = base + cell_index(cell);
        const EarlierPlace place = place_of_op(*c.launch, *write.code, write.op);
        report_finding(
            c, op, 0, Finding::race,
            fmt::format("reads tensor memory in a race with the write{}\nrace: it reads what an "
                        "asynchronous operation by thread {} of its block writes{}, which hasn't "
                        "been waited for\naddress: lane {}, column {} of tensor memory",
                        place.brief, write.thread, place.text, at / TensorMemory::column_count,
                        at % TensorMemory::column_count),
            {place.stack});
    }
}

}  // namespace

const Op* load_tensor_memory(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& move = *static_cast<const TensorRegisters*>(op->table);
    const u32* const from = cells_of_warp(c, op, move, "reads");
    if (from == nullptr) return leave();
    if (c.init) {
        const TensorMemory& memory = *c.block->tensor_memory;
        check_loaded(c, op, move, memory, static_cast<std::size_t>(from - memory.cells.data()));
    }
    if (c.race) {
        const TensorMemory& memory = *c.block->tensor_memory;
        check_complete(c, op, move, memory, static_cast<std::size_t>(from - memory.cells.data()));
    }
    // The address may be in a register that is loaded.
    std::vector<std::array<u32, lanes>> values(move.slots.size());
    for (std::size_t k = 0; k < move.slots.size(); ++k) {
        for (std::size_t i = 0; i < lanes; ++i) {
            const std::size_t cell = cell_index(move.cells[k * lanes + i]);
            values[k][i] = move.packs ? (from[cell] & 0xffff) | from[cell + 1] << 16 : from[cell];
        }
    }
    for (std::size_t k = 0; k < move.slots.size(); ++k)
        std::memcpy(destination<u32>(c, move.slots[k]), values[k].data(), sizeof values[k]);
    if (move.reduction != TensorReduction::none) reduce_registers(c, move, values);
    return op + 1;
}

const Op* store_tensor_memory(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& move = *static_cast<const TensorRegisters*>(op->table);
    u32* const to = cells_of_warp(c, op, move, "writes");
    if (to == nullptr) return leave();
    for (std::size_t k = 0; k < move.slots.size(); ++k) {
        const u32* const from = source<u32>(c, move.slots[k]);
        for (std::size_t i = 0; i < lanes; ++i) {
            const std::size_t cell = cell_index(move.cells[k * lanes + i]);
            to[cell] = move.packs ? from[i] & 0xffff : from[i];
            if (move.packs) to[cell + 1] = from[i] >> 16;
            if (!c.init && !c.race) continue;
            TensorMemory& memory = *c.block->tensor_memory;
            const auto at = static_cast<u32>(to + cell - memory.cells.data());
            memory.mark(at / TensorMemory::column_count, at % TensorMemory::column_count,
                        move.packs ? 2 : 1);
            memory.note(at / TensorMemory::column_count, at % TensorMemory::column_count,
                        move.packs ? 2 : 1, {});
        }
    }
    return op + 1;
}

// Shared memory -----------------------------------------------------------------------------------

namespace {

/// Spreads 16 packed numbers to bytes: those of 6 bits into the low bits, those of 4 bits into bits
/// 2 to 5, where products expect them.
void spread_packed_numbers(u8* chunk, u32 bits) noexcept {
    u64 low = 0;
    u64 high = 0;
    std::memcpy(&low, chunk, 8);
    std::memcpy(&high, chunk + 8, 8);
    const u128 packed = (u128{high} << 64) | low;
    for (u32 k = 0; k < 16; ++k) {
        const auto number = static_cast<u32>(packed >> (k * bits)) & ((1u << bits) - 1);
        chunk[k] = static_cast<u8>(bits == 4 ? number << 2 : number);
    }
}

/// One block's part of a copy.
bool copy_matrix(WarpContext& c, const Op* op, u32 thread, Block& block, u32 address,
                 u64 descriptor) {
    const auto flags = op->flags.as<TensorRowsFlags>();
    const TensorRows& shape = tensor_rows[flags.shape];
    const auto from = MatrixDescriptor::of_tensor_core(descriptor);
    const u32 column = address & 0xffff;
    const u32 lane = address >> 16;
    const u32 last = (shape.rows - 1) % shape.group + (shape.rows - 1) / shape.group * shape.step +
                     (shape.copies - 1) * shape.distance;
    TensorMemory* const memory =
        tensor_memory_at(c, op, thread, block, lane, last + 1, column, 4 * shape.chunks, "writes");
    if (memory == nullptr) return false;
    const TensorWrite by = tensor_write(c, op, thread);
    ChunkReader reader{c, op, thread, tag_of_block(c, block)};
    for (u32 row = 0; row < shape.rows; ++row) {
        for (u32 chunk = 0; chunk < shape.chunks; ++chunk) {
            u8 bytes[16];
            if (!reader.read(from.along_depth(row, chunk), bytes)) return false;
            if (flags.of_6_bits) spread_packed_numbers(bytes, 6);
            if (flags.of_4_bits) spread_packed_numbers(bytes, 4);
            for (u32 copy = 0; copy < shape.copies; ++copy) {
                const u32 to = lane + row % shape.group + row / shape.group * shape.step +
                               copy * shape.distance;
                std::memcpy(memory->at(to, column + 4 * chunk), bytes, sizeof bytes);
                memory->mark(to, column + 4 * chunk, 4);
                memory->note(to, column + 4 * chunk, 4, by);
            }
        }
    }
    return true;
}

/// Calls f(block) for the blocks of an operation; false after a fault.
template <class F>
bool each_block_of(WarpContext& c, const Op* op, u32 thread, bool pair, F&& f) {
    if (!pair) return f(*c.block);
    for (u32 k = 0; k < 2; ++k) {
        Block* const block = block_of_pair(c, op, thread, k);
        if (block == nullptr || !f(*block)) return false;
    }
    return true;
}

}  // namespace

const Op* copy_to_tensor_memory(WarpContext& c, const Op* op) {
    const CopyOrder order(c);  // The race check doesn't see what is read.
    const bool pair = op->flags.as<TensorRowsFlags>().by_pair;
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const u32 address = source<u32>(c, op->r[1])[i];
        const u64 descriptor = source<u64>(c, op->r[2])[i];
        const std::string wrong = wrong_descriptor(descriptor);
        if (!wrong.empty()) return raise(c, op, i, Fault::illegal_instruction, wrong);
        const bool fine = each_block_of(c, op, i, pair, [&](Block& block) {
            return copy_matrix(c, op, i, block, address, descriptor);
        });
        if (!fine) return leave();
    }
    return op + 1;
}

const Op* shift_tensor_memory(WarpContext& c, const Op* op) {
    constexpr u32 columns = 8;
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const u32 address = source<u32>(c, op->r[1])[i];
        const u32 lane = address >> 16;
        const u32 column = address & 0xffff;
        if (lane % lanes != 0) {
            return raise(c, op, i, Fault::illegal_instruction,
                         fmt::format("shifts tensor memory from lane {} on, which isn't a multiple "
                                     "of 32",
                                     lane));
        }
        const bool pair = op->flags.as<TensorBlocks>() == TensorBlocks::pair;
        const bool fine = each_block_of(c, op, i, pair, [&](Block& block) {
            TensorMemory* const memory =
                tensor_memory_at(c, op, i, block, lane, lanes, column, columns, "shifts");
            if (memory == nullptr) return false;
            for (u32 row = 0; row + 1 < lanes; ++row) {
                std::copy_n(memory->at(lane + row + 1, column), columns,
                            memory->at(lane + row, column));
                memory->mark(lane + row, column, columns);
                memory->note(lane + row, column, columns, tensor_write(c, op, i));
            }
            return true;
        });
        if (!fine) return leave();
    }
    return op + 1;
}

const Op* arrive_at_blocks(WarpContext& c, const Op* op) {
    CopyOrder order(c);
    const u64* const barriers = source<u64>(c, op->r[1]);
    const u16* const blocks = source<u16>(c, op->r[2]);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        for (u32 rest = blocks[i]; rest != 0; rest &= rest - 1) {
            const auto rank = static_cast<u32>(std::countr_zero(rest));
            const u64 address =
                rank == c.block->rank ? barriers[i] & own_offset_mask : in_block(barriers[i], rank);
            u8* const at = lane_pointer(c, op, i, address, 8, Window::shared, Access::atomic);
            if (at == nullptr) return leave();
            MemoryBarrier barrier{};
            std::memcpy(&barrier.bits, at, 8);
            const u32 phase = barrier.parity();
            barrier.advance(0, 1, 0);
            std::memcpy(at, &barrier.bits, 8);
            order.arrive(op, i, at, barrier.parity() != phase);
        }
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
