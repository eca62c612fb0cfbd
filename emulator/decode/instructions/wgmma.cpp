// wgmma: products of matrices in shared memory by four warps. Each warp computes its part at once;
// what fences, groups and waits order is for the race check.
#include "emulator/decode/fragments.hpp"
#include "emulator/decode/instructions/tensor.hpp"

#include <vector>

namespace lode::emulator::decode {

using exec::Element;

namespace {

constexpr u32 warp_rows = 16;

void multiply(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"mma_async", "sync", "aligned"});
    const bool sparse = opcode.take("sp");
    exec::WarpgroupProduct& plan = b.kernel().warpgroup_products.emplace_back();
    exec::MatrixProduct& product = plan.product;
    product.saturates = opcode.take("satfinite");
    if (opcode.take("and")) product.bits = exec::BitProduct::conjunction;
    opcode.take("popc");
    const auto sizes = take_sizes(opcode);
    const std::vector<Element> types = take_elements(opcode);  // d, a and b.
    if (!sizes || types.size() != 3) return b.refuse();
    const Element left = types[1];
    plan.columns = sizes->n;
    plan.depth = left == Element::b1 ? sizes->k / 32 : sizes->k;
    product.a = left_fragment(left, warp_rows, sparse ? plan.depth / 2 : plan.depth);
    product.b.element = types[2];
    product.d = sum_fragment(types[0], warp_rows, sizes->n);
    product.c = product.d;
    product.precision = precision_of(b, left, true);
    u32 at = 3;
    if (sparse) {
        fill_metadata(b, product, warp_rows, plan.depth, b.operand(at), b.operand(at + 1));
        at += 2;
    }
    const Slot scale = b.predicate(b.operand(at++));
    const auto next = [&] { return at < b.operand_count() ? b.operand(at++).bits : 0; };
    const bool is_real = !exec::is_integer(left);
    plan.negates_a = is_real && next() != 1;
    plan.negates_b = is_real && next() != 1;
    const bool in_registers = b.operand(1).kind == ptx::OperandKind::list;
    plan.a_by_columns = !in_registers && next() == 1;
    plan.b_by_rows = next() == 1;
    Slot a_slot = no_slot;
    if (in_registers) {
        if (!fill_fragment(b, b.operand(1), product.a, false)) return;
    } else {
        product.a.slots.clear();
        a_slot = b.source(b.operand(1), 'd');
    }
    const Slot b_slot = b.source(b.operand(2), 'd');
    const Slot members = all_lanes_slot(b);
    if (!fill_fragment(b, b.operand(0), product.d, true)) return;
    product.c.slots = product.d.slots;
    Op& op = b.emit_access(Operation::warpgroup_product,
                           {a_slot, b_slot, scale, no_slot, no_slot, no_slot, no_slot, members});
    op.table = &plan;
}

}  // namespace

void warpgroup_matrices(Builder& b) {
    Opcode& opcode = b.opcode();
    if (opcode.peek(1) == "mma_async") return multiply(b);
    opcode.ignore({"sync", "aligned"});
    Operation operation = Operation::warpgroup_wait;
    if (opcode.take("fence")) operation = Operation::warpgroup_fence;
    if (opcode.take("commit_group")) operation = Operation::warpgroup_commit;
    opcode.take("wait_group");
    const Slot members = all_lanes_slot(b);
    Op& op =
        b.emit(operation, {no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, no_slot, members});
    if (operation == Operation::warpgroup_wait) op.imm = b.operand(0).bits;
}

}  // namespace lode::emulator::decode
