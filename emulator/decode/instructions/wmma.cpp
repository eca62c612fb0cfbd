// wmma: matrices from memory, products and matrices to memory, as fragments whose layout PTX leaves
// open.
#include "emulator/decode/fragments.hpp"
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/decode/instructions/tensor.hpp"

namespace lode::emulator::decode {

using exec::Element;

namespace {

/// The depth in elements: words of 32 bits for b1.
u32 depth_of(const MatrixSizes& sizes, Element element) {
    return element == Element::b1 ? sizes.k / 32 : sizes.k;
}

void move_fragment(Builder& b, bool stores) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"load", "store", "sync", "aligned", "row", "d"});
    const auto element = element_named(opcode.take_last());
    const auto sizes = take_sizes(opcode);
    if (!element || !sizes) return b.refuse();
    Side side = Side::sum;
    if (opcode.take("a")) side = Side::left;
    if (opcode.take("b")) side = Side::right;
    opcode.take("c");
    exec::FragmentMove& move = b.kernel().fragment_moves.emplace_back();
    move.by_columns = opcode.take("col");
    const ptx::Operand& list = b.operand(stores ? 1 : 0);
    const ptx::Operand& place = b.operand(stores ? 0 : 1);
    const bool shared = take_space(b, place) == exec::MemorySpace::shared;
    auto fragment = wmma_fragment(*element, side, sizes->m, sizes->n, depth_of(*sizes, *element));
    if (!fragment) return b.refuse();
    move.fragment = *std::move(fragment);
    move.lines = move.by_columns ? move.fragment.columns : move.fragment.rows;
    move.length = move.by_columns ? move.fragment.rows : move.fragment.columns;
    if (!fill_fragment(b, list, move.fragment, !stores)) return;
    const LaneAddresses address = lane_addresses(b, place, shared);
    move.offset = address.offset;
    const u32 tight = *element == Element::b1 ? move.length * 32 : move.length;
    const Slot stride = b.operand_count() > 2 ? b.source(b.operand(2), 'w') : b.constant(tight, 4);
    const Slot members = all_lanes_slot(b);
    if (b.refused()) return;
    Op& op =
        b.emit_access(stores ? Operation::store_fragment : Operation::load_fragment,
                      {no_slot, no_slot, no_slot, no_slot, address.slot, stride, no_slot, members});
    op.addressing = address.addressing;
    op.table = &move;
}

void multiply_fragments(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"mma", "sync", "aligned", "popc"});
    take_layouts(opcode);  // They matter to the loads only.
    exec::MatrixProduct& plan = b.kernel().products.emplace_back();
    if (opcode.take("xor")) plan.bits = exec::BitProduct::exclusive_or;
    if (opcode.take("and")) plan.bits = exec::BitProduct::conjunction;
    plan.saturates = opcode.take("satfinite");
    plan.rounding = static_cast<u8>(take_rounding(opcode));
    const auto sizes = take_sizes(opcode);
    if (!sizes) return b.refuse();
    // d.c for halves, otherwise d.a.b.c.
    const std::vector<Element> types = take_elements(opcode);
    if (types.size() != 2 && types.size() != 4) return b.refuse();
    const bool halves = types.size() == 2;
    const Element left = halves ? Element::f16 : types[1];
    const Element right = halves ? Element::f16 : types[2];
    const u32 depth = depth_of(*sizes, left);
    const auto [m, n, k] = *sizes;
    auto a_fragment = wmma_fragment(left, Side::left, m, n, depth);
    auto b_fragment = wmma_fragment(right, Side::right, m, n, depth);
    auto c_fragment = wmma_fragment(types.back(), Side::sum, m, n, depth);
    auto d_fragment = wmma_fragment(types.front(), Side::sum, m, n, depth);
    if (!a_fragment || !b_fragment || !c_fragment || !d_fragment) return b.refuse();
    plan.a = *std::move(a_fragment);
    plan.b = *std::move(b_fragment);
    plan.c = *std::move(c_fragment);
    plan.d = *std::move(d_fragment);
    plan.precision = precision_of(b, left, false);
    if (left == Element::tf32) plan.precision.block = 4;
    emit_product(b, plan);
}

}  // namespace

void warp_matrices(Builder& b) {
    const Word what = b.opcode().peek(1);
    if (what == "mma") return multiply_fragments(b);
    move_fragment(b, what == "store");
}

}  // namespace lode::emulator::decode
