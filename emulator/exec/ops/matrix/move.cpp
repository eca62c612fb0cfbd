// ldmatrix, stmatrix and movmatrix. Lane 4 * row + column of an 8 by 8 matrix holds its elements
// 2 * column and 2 * column + 1 of that row.
#include "emulator/exec/ops/control/whole_warp.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/atomic.hpp"
#include "emulator/isa/tensor.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

constexpr u32 row_bytes = 16;
constexpr u32 side = 8;

/// Row r of matrix m is at the address of lane 8 * m + r. Null after a fault.
u8* matrix_row(WarpContext& c, const Op* op, u32 lane, Access access, u32 bytes = row_bytes) {
    const Window window = op->addressing.window;
    const bool narrow = op->addressing.narrow;
    const u64 address = lane_address(source<u8>(c, op->r[4]), narrow, lane) + op->imm;
    return lane_pointer(c, op, lane, address, bytes, window, access);
}

using Matrix = u16[side][side];

void transpose(Matrix& matrix) noexcept {
    for (u32 i = 0; i < side; ++i) {
        for (u32 j = i + 1; j < side; ++j)
            std::swap(matrix[i][j], matrix[j][i]);
    }
}

/// Spreads the 16 elements at the beginning of a row to a byte each.
void spread_row(u16 (&row)[side], u32 bits, bool is_signed = false) noexcept {
    u8 bytes[row_bytes];
    std::memcpy(bytes, row, row_bytes);
    u8 spread[row_bytes];
    for (u32 i = 0; i < row_bytes; ++i) {
        const u32 at = i * bits;
        const u32 two = bytes[at / 8] | u32{bytes[std::min(at / 8 + 1, row_bytes - 1)]} << 8;
        const u32 value = two >> (at % 8) & ((1u << bits) - 1);
        const u32 sign = is_signed ? value & (1u << (bits - 1)) : 0;
        spread[i] = static_cast<u8>(value - 2 * sign);
    }
    std::memcpy(row, spread, row_bytes);
}

}  // namespace

const Op* load_matrices(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto flags = op->flags.as<MatrixFlags>();
    const u32 count = std::min<u32>(flags.count, 4);
    alignas(32) Matrix matrix[4];
    for (u32 m = 0; m < count; ++m) {
        for (u32 row = 0; row < side; ++row) {
            const u32 bytes = flags.of_4_signed_bits ? row_bytes / 2 : row_bytes;
            const u8* const from = matrix_row(c, op, m * side + row, Access::read, bytes);
            if (from == nullptr) return leave();
            if (bytes < row_bytes) std::memset(matrix[m][row], 0, row_bytes);
            copy_shared_bytes(matrix[m][row], from, bytes);
            if (flags.of_4_signed_bits) spread_row(matrix[m][row], 4, true);
            if (flags.of_6_bits) spread_row(matrix[m][row], 6);
            if (flags.of_4_bits) spread_row(matrix[m][row], 4);
        }
        if (flags.transposed) transpose(matrix[m]);
    }
    for (u32 m = 0; m < count; ++m)
        if (op->r[m] != no_slot)
            std::memcpy(destination<u32>(c, op->r[m]), matrix[m], sizeof matrix[m]);
    return op + 1;
}

const Op* store_matrices(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto flags = op->flags.as<MatrixFlags>();
    const u32 count = flags.count;
    for (u32 m = 0; m < count; ++m) {
        alignas(32) Matrix matrix;
        std::memcpy(matrix, source<u32>(c, op->r[m]), sizeof matrix);
        if (flags.transposed) transpose(matrix);
        for (u32 row = 0; row < side; ++row) {
            u8* const to = matrix_row(c, op, m * side + row, Access::write);
            if (to == nullptr) return leave();
            copy_shared_bytes(to, matrix[row], row_bytes);
        }
    }
    return op + 1;
}

const Op* load_byte_matrices(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto flags = op->flags.as<MatrixFlags>();
    const u32 count = std::min<u32>(flags.count, 2);
    alignas(32) u8 loaded[4][lanes][4];
    for (u32 m = 0; m < count; ++m) {
        for (u32 row = 0; row < row_bytes; ++row) {
            const u8* const from = matrix_row(c, op, m * row_bytes + row, Access::read);
            if (from == nullptr) return leave();
            u16 bytes[side];
            copy_shared_bytes(bytes, from, row_bytes);
            if (flags.of_6_bits) spread_row(bytes, 6);
            if (flags.of_4_bits) spread_row(bytes, 4);
            u8 column[row_bytes];
            std::memcpy(column, bytes, row_bytes);
            for (u32 k = 0; k < row_bytes; ++k)
                loaded[2 * m + k / side][k % side * 4 + row / 4][row % 4] = column[k];
        }
    }
    for (u32 k = 0; k < 2 * count; ++k)
        if (op->r[k] != no_slot)
            std::memcpy(destination<u32>(c, op->r[k]), loaded[k], sizeof loaded[k]);
    return op + 1;
}

const Op* store_byte_matrices(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const u32 count = std::min<u32>(op->flags.as<MatrixFlags>().count, 4);
    for (u32 m = 0; m < count; ++m) {
        const u32* const from = source<u32>(c, op->r[m]);
        for (u32 row = 0; row < side; ++row) {
            u8 bytes[row_bytes];
            for (u32 k = 0; k < row_bytes; ++k) {
                const u32 part = row % 2 + k / side * 2;
                bytes[k] = static_cast<u8>(from[k % side * 4 + row / 2] >> (8 * part));
            }
            u8* const to = matrix_row(c, op, m * side + row, Access::write);
            if (to == nullptr) return leave();
            copy_shared_bytes(to, bytes, row_bytes);
        }
    }
    return op + 1;
}

const Op* transpose_matrix(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    alignas(32) Matrix matrix;
    std::memcpy(matrix, source<u32>(c, op->r[1]), sizeof matrix);
    transpose(matrix);
    std::memcpy(destination<u32>(c, op->r[0]), matrix, sizeof matrix);
    return op + 1;
}

}  // namespace lode::emulator::exec
