// wgmma.mma_async: matrices in shared memory behind descriptors.
#include "emulator/exec/ops/matrix_elements.hpp"
#include "emulator/exec/ops/matrix_fragment.hpp"
#include "emulator/exec/ops/memory.hpp"
#include "emulator/exec/ops/whole_warp.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

constexpr std::size_t warp_rows = 16;
constexpr std::size_t max_columns = 256;
constexpr std::size_t max_depth = 64;
constexpr u32 chunk_bytes = 16;

/// A matrix descriptor: PTX ISA 9.0, section 9.7.15.5.1. Chunks of 16 bytes make core matrices of
/// eight; the offsets lead from one core matrix to the next.
struct Descriptor {
    explicit Descriptor(u64 bits) noexcept
        : start(field(bits, 0)),
          leading(field(bits, 16)),
          stride(field(bits, 32)),
          base_offset(static_cast<u32>(bits >> 49) & 7) {
        constexpr u32 widths[] = {16, 128, 64, 32};
        width = widths[bits >> 62];
    }
    static u32 field(u64 bits, u32 shift) noexcept {
        return static_cast<u32>(bits >> shift & 0x3fff) << 4;
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
        return swizzled(start + k % 8 * width + k / 8 * stride + chunk % chunks * chunk_bytes +
                        chunk / chunks * leading);
    }

    u32 start, leading, stride, base_offset;
    u32 width = chunk_bytes;  ///< Bytes of a row of the pattern.

private:
    [[nodiscard]] u32 swizzled(std::size_t of) const noexcept {
        const auto address = static_cast<u32>(of);
        const u32 mask = width / chunk_bytes - 1;
        return address ^ ((((address >> 7) - base_offset) & mask) << 4);
    }
};

/// Reads chunks of shared memory; `fault` after one outside.
struct ChunkReader {
    WarpContext& c;
    const Op* op;
    bool fault = false;

    bool read(u32 address, u8* to) {
        if (!c.race && address + chunk_bytes <= c.shared_bytes) [[likely]] {
            std::memcpy(to, c.shared + address, chunk_bytes);
            return true;
        }
        const u8* const from =
            lane_pointer(c, op, 0, address, chunk_bytes, Window::shared, Access::read);
        fault = from == nullptr;
        if (!fault) std::memcpy(to, from, chunk_bytes);
        return !fault;
    }
};

/// The elements of a chunk, one to a word.
void unpack(const u8* chunk, std::size_t bits, u32* to, std::size_t step) noexcept {
    const std::size_t bytes = bits / 8;
    for (std::size_t i = 0; i < chunk_bytes / bytes; ++i) {
        u32 element = 0;
        std::memcpy(&element, chunk + i * bytes, bytes);
        to[i * step] = element;
    }
}

/// Reads `lines` rows of a left matrix, or columns of a right one, from line `first` on. Element k
/// of a line goes to raw[line * line_step + k * depth_step].
bool read_matrix(ChunkReader& reader, const Descriptor& from, Element element, bool across,
                 std::size_t first, std::size_t lines, std::size_t depth, u32* raw,
                 std::size_t line_step, std::size_t depth_step) {
    const u32 bits = bits_of(element);
    const std::size_t held = chunk_bytes * 8 / bits;
    u8 chunk[chunk_bytes];
    if (across) {
        for (std::size_t k = 0; k < depth; ++k) {
            for (std::size_t line = 0; line < lines; line += held) {
                if (!reader.read(from.across_depth(k, (first + line) / held), chunk)) return false;
                unpack(chunk, bits, raw + line * line_step + k * depth_step, line_step);
            }
        }
        return true;
    }
    for (std::size_t line = 0; line < lines; ++line) {
        for (std::size_t k = 0; k < depth; k += held) {
            if (!reader.read(from.along_depth(first + line, k / held), chunk)) return false;
            unpack(chunk, bits, raw + line * line_step + k * depth_step, depth_step);
        }
    }
    return true;
}

template <class M>
void negate(M& matrix, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        matrix.significands[i] = -matrix.significands[i];
}

}  // namespace

const Op* warpgroup_product(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& plan = *static_cast<const WarpgroupProduct*>(op->table);
    const MatrixProduct& product = plan.product;
    alignas(32) u32 left[warp_rows * max_depth];
    alignas(32) u32 right[max_depth * max_columns];
    alignas(32) u32 summand[warp_rows * max_columns];
    ChunkReader reader{c, op};
    const bool sparse = product.sparsity != Sparsity::none;
    const std::size_t packed = sparse ? plan.depth / 2 : plan.depth;
    if (op->r[0] == no_slot) {
        gather(c, product.a, left);
    } else {
        const Descriptor from(source<u64>(c, op->r[0])[0]);
        if (!read_matrix(reader, from, product.a.element, plan.a_by_columns,
                         c.warp->index % 4 * warp_rows, warp_rows, packed, left, packed, 1))
            return leave();
    }
    const Descriptor from(source<u64>(c, op->r[1])[0]);
    if (!read_matrix(reader, from, product.b.element, plan.b_by_rows, 0, plan.columns, plan.depth,
                     right, 1, plan.columns))
        return leave();
    if ((predicate(c, op->r[2]) & 1) != 0) {
        gather(c, product.c, summand);
    } else {
        std::fill_n(summand, warp_rows * plan.columns, 0u);
    }
    LeftMatrix a;
    LeftMatrix packed_a;
    RightPanel b;
    SumPanel sum;
    take_left(product.a.element, left, warp_rows, packed, sparse ? packed_a : a);
    if (sparse) spread_left(product, source<u32>(c, product.metadata), packed_a, a);
    if (plan.negates_a) negate(a, warp_rows * plan.depth);
    const ProductTypes types{product.a.element, product.c.element, product.d.element,
                             product.precision, product.bits,      product.saturates};
    for (std::size_t first = 0; first < plan.columns; first += panel_columns) {
        take_right(product.b.element, right, plan.depth, plan.columns, first, b);
        if (plan.negates_b) negate(b, plan.depth * panel_columns);
        for (std::size_t row = 0; row < warp_rows; ++row) {
            std::memcpy(sum.bits.data() + row * panel_columns, summand + row * plan.columns + first,
                        32);
        }
        add_product(types, a, b, sum);
        for (std::size_t row = 0; row < warp_rows; ++row) {
            std::memcpy(summand + row * plan.columns + first, sum.bits.data() + row * panel_columns,
                        32);
        }
    }
    scatter(c, product.d, summand);
    return op + 1;
}

}  // namespace lode::emulator::exec
