// mma: products of matrices in registers.
#include "emulator/decode/fragments.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/decode/instructions/tensor.hpp"
#include "emulator/decode/module_parts.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace lode::emulator::decode {

using exec::Element;

namespace {

/// The tensor cores of an architecture; docs/dev/emulator.md, "Tensor operations", says where the
/// numbers come from.
struct TensorCore {
    int first;              ///< The lowest compute capability, 10 * major + minor.
    u8 block_bytes;         ///< Bytes of a row that are added at once.
    u8 fraction_bits;       ///< Kept below the largest exponent.
    u8 byte_fraction_bits;  ///< The same for fp8.
    u8 byte_result_bits;    ///< Bits of fraction of a float result, for fp8.
};
constexpr TensorCore tensor_cores[] = {
    {100, 32, 25, 25, 23}, {90, 32, 25, 25, 23}, {89, 16, 24, 13, 13}, {0, 16, 24, 24, 23}};
/// wgmma adds fp8 with fewer bits than mma.
constexpr TensorCore warpgroup_core{90, 32, 25, 13, 13};

exec::Sparsity sparsity_of(Element element) {
    if (element == Element::tf32) return exec::Sparsity::one_of_two;
    return exec::bits_of(element) == 4 ? exec::Sparsity::pairs_of_eight
                                       : exec::Sparsity::two_of_four;
}

}  // namespace

exec::Precision precision_of(Builder& b, Element element, bool is_wgmma) {
    const int device = b.build().module->compute_capability;
    const TensorCore* core = &tensor_cores[0];
    while (core->first > device)
        ++core;
    if (is_wgmma) core = &warpgroup_core;
    const u32 bits = std::max<u32>(exec::bits_of(element), 8);
    const bool is_byte = bits == 8;
    return {.adding = exec::Adding::blocks,
            .block = static_cast<u8>(core->block_bytes * 8 / bits),
            .fraction_bits = is_byte ? core->byte_fraction_bits : core->fraction_bits,
            .result_bits = is_byte ? core->byte_result_bits : u8{23}};
}

void fill_metadata(Builder& b, exec::MatrixProduct& plan, u32 rows, u32 depth,
                   const ptx::Operand& metadata, const ptx::Operand& selector) {
    plan.sparsity = sparsity_of(plan.a.element);
    const u32 chunk = plan.sparsity == exec::Sparsity::pairs_of_eight ? 8
                      : plan.sparsity == exec::Sparsity::one_of_two   ? 2
                                                                      : 4;
    plan.metadata = b.source(metadata, 'w');
    plan.metadata_places =
        metadata_places(plan.a.element, rows, depth / chunk, static_cast<u32>(selector.bits));
    // As many elements that are there make a block.
    plan.precision.block = static_cast<u8>(plan.precision.block * 2);
}

void emit_product(Builder& b, exec::MatrixProduct& plan) {
    const Slot members = all_lanes_slot(b);
    if (!fill_fragment(b, b.operand(0), plan.d, true) ||
        !fill_fragment(b, b.operand(1), plan.a, false) ||
        !fill_fragment(b, b.operand(2), plan.b, false) ||
        !fill_fragment(b, b.operand(3), plan.c, false))
        return;
    Op& op = b.emit(Operation::matrix_product,
                    {no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, members});
    op.table = &plan;
}

namespace {

/// sm_90 has no instruction for mma with fp8: it adds halves.
void add_as_halves(exec::MatrixProduct& plan, u32 depth) {
    const bool sparse = plan.sparsity != exec::Sparsity::none;
    order_as_halves(plan.a, true, 2);
    order_as_halves(plan.b, false, sparse ? 4 : 2);
    if (sparse) {
        const std::vector<u16> places = std::move(plan.metadata_places);
        const std::size_t chunks = depth / 4;
        for (std::size_t at = 0; at < places.size(); ++at) {
            const std::size_t chunk = at % chunks;
            const std::size_t from = chunk % (chunks / 2) * 2 + chunk / (chunks / 2);
            plan.metadata_places.push_back(places[at - chunk + from]);
        }
    }
    plan.precision = {exec::Adding::blocks_then_summand, static_cast<u8>(depth / 2), 25, 23};
}

}  // namespace

/// The byte or lane that selects scales, in a list of two; none if it isn't a valid number.
std::optional<u8> selector(Builder& b, const ptx::Operand& list, u32 index, u32 below, u32 step) {
    const auto elements = b.list(list);
    if (elements.size() != 2) return std::nullopt;
    const ptx::Operand& one = elements[index];
    const bool is_number = one.kind == ptx::OperandKind::integer;
    if (!is_number || one.bits >= below || one.bits % step != 0) return std::nullopt;
    return static_cast<u8>(one.bits);
}

/// Fills the scales from the four operands from `at` on. `count` is that of a row's blocks.
void fill_scales(Builder& b, exec::BlockScales& scales, u32 at, u32 count) {
    scales.count = count;
    const auto a_byte = selector(b, b.operand(at + 1), 0, 4, count);
    const auto a_pair = selector(b, b.operand(at + 1), 1, 2, 1);
    const auto b_byte = selector(b, b.operand(at + 3), 0, 4, count);
    const auto b_lane = selector(b, b.operand(at + 3), 1, 4, 1);
    if (!a_byte || !a_pair || !b_byte || !b_lane)
        return b.refuse("with selectors that aren't valid numbers");
    scales.a_byte = *a_byte;
    scales.a_lane = static_cast<u8>(2 * *a_pair);
    scales.b_byte = *b_byte;
    scales.b_lane = *b_lane;
    scales.a = b.source(b.operand(at), 'w');
    scales.b = b.source(b.operand(at + 2), 'w');
}

/// Takes the words of block scaling and returns the number of a row's blocks; 0 without scales.
u32 take_scales(Opcode& opcode, exec::BlockScales& scales) {
    const bool in_fours = opcode.take("kind::mxf4") || opcode.take("kind::mxf4nvf4");
    opcode.ignore({"kind::f8f6f4", "kind::mxf8f6f4"});
    if (!opcode.take("block_scale")) return 0;
    scales.adds_groups = in_fours;
    scales.has_fraction = opcode.take("ue4m3");
    opcode.ignore({"ue8m0", "scale_vec::1X", "scale_vec::2X"});
    if (opcode.take("scale_vec::4X")) return 4;
    return in_fours ? 2 : 1;
}

void multiply_matrices(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"sync", "aligned"});
    const bool sparse = opcode.take_prefix("sp");
    const auto sizes = take_sizes(opcode);
    if (!sizes) return b.refuse();
    const std::vector<bool> by_columns = take_layouts(opcode);  // a, b
    exec::MatrixProduct& plan = b.kernel().products.emplace_back();
    plan.saturates = opcode.take("satfinite");
    plan.rounding = static_cast<u8>(take_rounding(opcode));
    if (opcode.take("xor")) plan.bits = exec::BitProduct::exclusive_or;
    if (opcode.take("and")) plan.bits = exec::BitProduct::conjunction;
    opcode.take("popc");
    const u32 scale_count = take_scales(opcode, plan.scales);
    std::vector<Element> types = take_elements(opcode);
    if (types.size() != 4) return b.refuse();
    if (plan.scales.adds_groups) types[1] = types[2] = Element::e2m1_x2;
    const Element d = types[0];
    const Element left = types[1];
    const Element right = types[2];
    const Element c = types[3];
    const auto [m, n, k] = *sizes;
    plan.precision = precision_of(b, left, false);
    if (m == 8 && left == Element::f16) {
        plan.repeats = 4;
        plan.a = quad_left_fragment(by_columns[0]);
        plan.b = quad_right_fragment(by_columns[1]);
        plan.c = quad_sum_fragment(c);
        plan.d = quad_sum_fragment(d);
        plan.precision.adding = exec::Adding::in_order;
        return emit_product(b, plan);
    }
    const u32 depth = left == Element::b1 ? k / 32 : k;
    plan.a = left_fragment(left, m, sparse ? depth / 2 : depth);
    plan.b = right_fragment(right, depth);
    plan.c = sum_fragment(c, m, n);
    plan.d = sum_fragment(d, m, n);
    if (scale_count != 0) fill_scales(b, plan.scales, sparse ? 6 : 4, scale_count);
    if (b.refused()) return;
    if (sparse) {
        fill_metadata(b, plan, m, depth, b.operand(4), b.operand(5));
    }
    const bool is_fp8 = left == Element::e4m3 || left == Element::e5m2;
    if (is_fp8 && b.build().module->compute_capability == 90) add_as_halves(plan, depth);
    emit_product(b, plan);
}

}  // namespace lode::emulator::decode
