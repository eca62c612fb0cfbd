// Ops on tensor memory (tcgen05): allocation, moves from and to registers and shared memory, and
// products. Addresses of tensor memory have a lane in their upper and a column in their lower half.
#pragma once

#include "emulator/isa/tensor.hpp"

#include <vector>

namespace lode::emulator::exec {

/// The blocks that allocate or shift tensor memory together.
enum class TensorBlocks : u16 { one, pair };

/// What tcgen05.ld.red makes of the registers of a lane.
enum class TensorReduction : u8 { none, u32_min, u32_max, s32_min, s32_max, f32_min, f32_max };

/// tcgen05.ld and tcgen05.st by one warp.
struct TensorRegisters {
    std::vector<Slot> slots;  ///< By register.
    /// The cell of each register of each lane, at [register * 32 + lane]: lane << 16 | column.
    std::vector<u32> cells;
    u32 rows = 0;        ///< Lanes of tensor memory.
    u32 columns = 0;     ///< Up to the last one.
    bool packs = false;  ///< A register has the low halves of two neighbouring columns.
    TensorReduction reduction = TensorReduction::none;
    bool of_magnitudes = false, keeps_nan = false;
    Slot reduced = no_slot;
};

/// How tcgen05.cp places the rows of a matrix in lanes: row r is in lane r % group + r / group *
/// step, and again `copies` - 1 times, `distance` lanes on.
struct TensorRows {
    u32 rows = 0, chunks = 0;  ///< Chunks of 16 bytes in a row.
    u32 group = 128, step = 0;
    u32 copies = 1, distance = 0;
};
inline constexpr TensorRows tensor_rows[] = {{128, 2},
                                             {4, 2, 1, 32},
                                             {128, 1},
                                             {64, 1, 64, 0, 2, 64},
                                             {64, 1, 32, 64, 2, 32},
                                             {32, 1, 32, 0, 4, 32}};
/// Flags of tcgen05.cp.
struct TensorRowsFlags {
    u8 shape = 0;  ///< The index of a row of tensor_rows.
    bool of_6_bits : 1 = false;
    bool of_4_bits : 1 = false;
    bool by_pair : 1 = false;
    u8 unused : 5 = 0;
};

enum class TensorKind : u8 { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// tcgen05.mma. The instruction descriptor, which is known at run time, has types and sizes.
struct TensorProduct {
    TensorKind kind = TensorKind::f16;
    u32 blocks = 1;  ///< That compute it together.
    bool stationary = false, sparse = false;
    bool a_in_tensor_memory = false;
    u32 scales = 0;    ///< Scales of a row; 0 without scales.
    i32 halvings = 0;  ///< Halvings of the summand.
    Precision precision;
    /// 32-bit addresses of tensor memory, descriptors, and whether there is a summand.
    Slot d = no_slot, a = no_slot, b = no_slot, instruction = no_slot, adds = no_slot;
    Slot metadata = no_slot, a_scales = no_slot, b_scales = no_slot;
    Slot zero_columns = no_slot;
    std::vector<Slot> disabled;  ///< Masks of lanes that keep their values.
};

}  // namespace lode::emulator::exec
