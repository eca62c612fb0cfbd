// wgmma.mma_async: matrices in shared memory, given by descriptors.
#include "emulator/exec/ops/control/whole_warp.hpp"
#include "emulator/exec/ops/matrix/descriptor.hpp"
#include "emulator/exec/ops/matrix/fragment.hpp"
#include "emulator/exec/ops/memory/copy_order.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

constexpr std::size_t warp_rows = 16;
constexpr std::size_t max_columns = 256;
constexpr std::size_t max_depth = 64;

}  // namespace

const Op* warpgroup_product(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto& plan = *static_cast<const WarpgroupProduct*>(op->table);
    const MatrixProduct& product = plan.product;
    alignas(32) u32 left[warp_rows * max_depth];
    alignas(32) u32 right[max_depth * max_columns];
    alignas(32) u32 summand[warp_rows * max_columns];
    if (c.race) order_product(c, op);
    const CopyOrder order(c);  // What is read isn't a thread's own access.
    ChunkReader reader{c, op};
    reader.is_warpgroup = true;
    const bool sparse = product.sparsity != Sparsity::none;
    const std::size_t packed = sparse ? plan.depth / 2 : plan.depth;
    if (op->r[0] == no_slot) {
        gather(c, product.a, left);
    } else {
        const auto from = MatrixDescriptor::of_warpgroup(source<u64>(c, op->r[0])[0]);
        if (!read_matrix(reader, from, chunk_format(product.a.element), plan.a_by_columns,
                         c.warp->index % 4 * warp_rows, warp_rows, packed, left, packed, 1))
            return leave();
    }
    const auto from = MatrixDescriptor::of_warpgroup(source<u64>(c, op->r[1])[0]);
    if (!read_matrix(reader, from, chunk_format(product.b.element), plan.b_by_rows, 0, plan.columns,
                     plan.depth, right, 1, plan.columns))
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
    if (plan.negates_a) negate_elements(a, warp_rows * plan.depth);
    const ProductTypes types{product.a.element, product.c.element, product.d.element,
                             product.precision, product.bits,      product.saturates};
    for (std::size_t first = 0; first < plan.columns; first += panel_columns) {
        take_right(product.b.element, right, plan.depth, plan.columns, first, b);
        if (plan.negates_b) negate_elements(b, plan.depth * panel_columns);
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

const Op* warpgroup_fence(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    if (c.race) order_product_fence(c);
    return op + 1;
}

const Op* warpgroup_commit(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    ++c.warp->product_groups;
    if (c.race) order_product_commit(c);
    wake_warpgroup(*c.block, c.warp->index);
    return op + 1;
}

const Op* warpgroup_wait(WarpContext& c, const Op* op) {
    const Op* next = nullptr;
    if (!is_whole(c, op, next)) return next;
    const auto left = static_cast<u32>(op->imm);
    const u32 own = c.warp->product_groups;
    if (own <= left) return op + 1;
    // A group is one of all four warps: the last of them completes it.
    const u32 first = c.warp->index / warpgroup_warps * warpgroup_warps;
    for (u32 w = first; w < std::min(first + warpgroup_warps, c.block->warp_count); ++w) {
        const Warp& other = *c.block->warps[w];
        if (other.live != 0 && other.product_groups < own - left) return park(c, products_wait, op);
    }
    if (c.race) order_product_wait(c, left);
    return op + 1;
}

}  // namespace lode::emulator::exec
