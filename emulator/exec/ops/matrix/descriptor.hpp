// Matrices in shared memory that wgmma and tcgen05 read by descriptors.
#pragma once

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/matrix/elements.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/cluster.hpp"

#include <string>

namespace lode::emulator::exec {

inline constexpr u32 chunk_bytes = 16;

/// A matrix descriptor: PTX ISA 9.0, sections 9.7.15.5.1 and 9.7.16.4.1. Chunks of 16 bytes make
/// core matrices of eight; the offsets lead from one core matrix to the next.
struct MatrixDescriptor {
    static MatrixDescriptor of_warpgroup(u64 bits) noexcept {
        constexpr u32 widths[] = {16, 128, 64, 32};
        MatrixDescriptor made(bits);
        made.width = widths[bits >> 62];
        return made;
    }
    static MatrixDescriptor of_tensor_core(u64 bits) noexcept {
        constexpr u32 widths[] = {16, 128, 128, 16, 64, 16, 32, 16};
        MatrixDescriptor made(bits);
        made.width = widths[bits >> 61];
        made.has_wide_atoms = bits >> 61 == 1;
        return made;
    }

    /// The address of a chunk of a line: `line` in the dimension across chunks, `chunk` along.
    [[nodiscard]] u32 along_depth(std::size_t line, std::size_t chunk) const noexcept {
        const std::size_t step = width == chunk_bytes ? leading : chunk_bytes;
        return swizzled(start + line % 8 * width + line / 8 * stride + chunk * step);
    }
    /// The same where the elements along rows or columns are consecutive, not those along k.
    [[nodiscard]] u32 across_depth(std::size_t k, std::size_t chunk) const noexcept {
        if (width == chunk_bytes)
            return static_cast<u32>(start + k % 8 * chunk_bytes + k / 8 * leading + chunk * stride);
        const std::size_t chunks = width / chunk_bytes;
        const std::size_t rows = has_wide_atoms ? 4 : 8;
        return swizzled(start + k % rows * width + k / rows * stride +
                        chunk % chunks * chunk_bytes + chunk / chunks * leading);
    }

    u32 start, leading, stride, base_offset;
    u32 width = chunk_bytes;      ///< Bytes of a row of the pattern.
    bool has_wide_atoms = false;  ///< The swizzle exchanges 32 bytes, not 16.

private:
    explicit MatrixDescriptor(u64 bits) noexcept
        : start(field(bits, 0)),
          leading(field(bits, 16)),
          stride(field(bits, 32)),
          base_offset(static_cast<u32>(bits >> 49) & 7) {}
    static u32 field(u64 bits, u32 shift) noexcept {
        return static_cast<u32>(bits >> shift & 0x3fff) << 4;
    }
    [[nodiscard]] u32 swizzled(std::size_t of) const noexcept {
        const auto address = static_cast<u32>(of);
        const u32 atom = has_wide_atoms ? 5 : 4;
        const u32 mask = (width >> atom) - 1;
        return address ^ ((((address >> 7) - base_offset) & mask) << atom);
    }
};

/// What is wrong with a descriptor for tcgen05, as the rest of a sentence about a thread.
inline std::string wrong_descriptor(u64 bits) {
    const auto layout = bits >> 61;
    if (layout == 3 || layout == 5 || layout == 7)
        return "uses a matrix descriptor with the swizzle " + std::to_string(layout) +
               ", which doesn't exist";
    if ((bits >> 46 & 7) != 1) return "uses a matrix descriptor whose bits 46 to 48 aren't 0b001";
    if ((bits >> 52 & 1) != 0) {
        return "uses a matrix descriptor with an absolute leading dimension, "
               "which the software device doesn't know";
    }
    return {};
}

/// The upper bits of addresses in a block's shared memory; 0 for the block that runs.
inline u32 tag_of_block(const WarpContext& c, const Block& block) noexcept {
    return &block == c.block ? 0 : (block.rank + 1) << rank_shift;
}

/// Reads chunks of shared memory; `fault` after one outside.
struct ChunkReader {
    WarpContext& c;
    const Op* op;
    u32 thread = 0;
    u32 tag = 0;  ///< As from tag_of_block().
    bool fault = false;
    bool is_warpgroup = false;  ///< Reads for wgmma.

    bool read(u32 address, u8* to) {
        if (c.launch->accesses != nullptr && tag == 0) {
            order_proxy_read(c, op, thread, address, chunk_bytes);
            if (is_warpgroup) order_product_read(c, op, address);
        }
        if (!c.watch && tag == 0 && address + chunk_bytes <= c.shared_bytes) [[likely]] {
            std::memcpy(to, c.shared + address, chunk_bytes);
            return true;
        }
        const u8* const from =
            lane_pointer(c, op, thread, address | tag, chunk_bytes, Window::shared, Access::read);
        fault = from == nullptr;
        if (!fault) std::memcpy(to, from, chunk_bytes);
        return !fault;
    }
};

/// How numbers lie in a chunk of shared memory.
struct ChunkFormat {
    u32 bits = 16;      ///< From one to the next.
    u32 count = 8;      ///< In a chunk; fewer than fit if it is padded.
    u32 raised_by = 0;  ///< Zeros below the number as an element.
};
constexpr ChunkFormat chunk_format(Element element) noexcept {
    return {bits_of(element), chunk_bytes * 8 / bits_of(element), 0};
}

/// The numbers of a chunk, one to a word.
inline void unpack_chunk(const u8* chunk, const ChunkFormat& format, u32* to,
                         std::size_t step) noexcept {
    if (format.bits % 8 == 0) {
        const std::size_t bytes = format.bits / 8;
        for (std::size_t i = 0; i < format.count; ++i) {
            u32 number = 0;
            std::memcpy(&number, chunk + i * bytes, bytes);
            to[i * step] = number;
        }
        return;
    }
    u64 halves[2];
    std::memcpy(halves, chunk, sizeof halves);
    const u128 packed = (u128{halves[1]} << 64) | halves[0];
    for (std::size_t i = 0; i < format.count; ++i) {
        const auto number = static_cast<u32>(packed >> (i * format.bits));
        to[i * step] = (number & ((1u << format.bits) - 1)) << format.raised_by;
    }
}

/// Reads `lines` rows of a left matrix, or columns of a right one, from line `first` on. Element k
/// of a line goes to raw[line * line_step + k * depth_step].
inline bool read_matrix(ChunkReader& reader, const MatrixDescriptor& from,
                        const ChunkFormat& format, bool across, std::size_t first,
                        std::size_t lines, std::size_t depth, u32* raw, std::size_t line_step,
                        std::size_t depth_step) {
    const std::size_t held = format.count;
    u8 chunk[chunk_bytes];
    if (across) {
        for (std::size_t k = 0; k < depth; ++k) {
            for (std::size_t line = 0; line < lines; line += held) {
                if (!reader.read(from.across_depth(k, (first + line) / held), chunk)) return false;
                unpack_chunk(chunk, format, raw + line * line_step + k * depth_step, line_step);
            }
        }
        return true;
    }
    for (std::size_t line = 0; line < lines; ++line) {
        for (std::size_t k = 0; k < depth; k += held) {
            if (!reader.read(from.along_depth(first + line, k / held), chunk)) return false;
            unpack_chunk(chunk, format, raw + line * line_step + k * depth_step, depth_step);
        }
    }
    return true;
}

template <class M>
void negate_elements(M& matrix, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        matrix.significands[i] = -matrix.significands[i];
}

}  // namespace lode::emulator::exec
