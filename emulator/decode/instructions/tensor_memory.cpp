// Tensor memory (tcgen05). Everything is complete when its op ends, so that fences and waits have
// nothing to order, and a commit arrives at once; the race check knows what a commit completes.
#include "emulator/isa/tensor_memory.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/decode/instructions/tensor.hpp"
#include "emulator/isa/async.hpp"

#include <algorithm>

namespace lode::emulator::decode {

using exec::Element;
using exec::TensorBlocks;
using exec::TensorKind;

namespace {

/// The address of tensor memory in brackets.
Slot tensor_address(Builder& b, const ptx::Operand& operand) {
    const Slot base = b.register_source(operand.index, 'w');
    if (operand.bits == 0) return base;
    const Slot sum = b.temporary('w');
    b.emit_row("add.u32", {sum, base, b.constant(operand.bits & 0xffff'ffff, 4)});
    return sum;
}

/// Takes .cta_group::1 or ::2.
TensorBlocks take_blocks(Opcode& opcode) {
    opcode.ignore({"cta_group::1"});
    return opcode.take("cta_group::2") ? TensorBlocks::pair : TensorBlocks::one;
}

Op& emit_of_warp(Builder& b, Operation operation, Slot first, Slot second) {
    const Slot members = all_lanes_slot(b);
    return b.emit(operation, {no_slot, first, second, no_slot, no_slot, no_slot, no_slot, members});
}

void allocate(Builder& b) {
    b.opcode().ignore({"sync", "aligned", "shared::cta", "b32"});
    const TensorBlocks blocks = take_blocks(b.opcode());
    const Slot to = whole_addresses(b, b.operand(0));
    const Slot columns = b.source(b.operand(1), 'w');
    if (b.refused()) return;
    emit_of_warp(b, Operation::allocate_tensor_memory, to, columns).flags = blocks;
    if (blocks == TensorBlocks::pair)
        emit_of_warp(b, Operation::await_pair_allocation, no_slot, no_slot);
}

void free_memory(Builder& b) {
    b.opcode().ignore({"sync", "aligned", "b32"});
    take_blocks(b.opcode());
    const Slot address = b.source(b.operand(0), 'w');
    const Slot columns = b.source(b.operand(1), 'w');
    if (b.refused()) return;
    emit_of_warp(b, Operation::free_tensor_memory, address, columns);
}

// Moves ------------------------------------------------------------------------------------------

/// The lane and column of a register of a thread, for a warp's move of a shape.
struct MoveShape {
    Word word;
    u32 rows;
    u32 (*lane)(u32 thread, u32 reg);
    u32 (*column)(u32 thread, u32 reg);
};
constexpr MoveShape move_shapes[] = {
    {"32x32b", 32, [](u32 t, u32) { return t; }, [](u32, u32 r) { return r; }},
    {"16x64b", 16, [](u32 t, u32) { return t / 4 + t % 2 * 8; },
     [](u32 t, u32 r) { return r * 2 + t / 2 % 2; }},
    {"16x128b", 16, [](u32 t, u32 r) { return t / 4 + r % 2 * 8; },
     [](u32 t, u32 r) { return r / 2 * 4 + t % 4; }},
    {"16x256b", 16, [](u32 t, u32 r) { return t / 4 + r / 2 % 2 * 8; },
     [](u32 t, u32 r) { return r / 4 * 8 + t % 4 * 2 + r % 2; }},
    {"16x32bx2", 16, [](u32 t, u32) { return t % 16; }, [](u32, u32 r) { return r; }}};

void fill_cells(exec::TensorRegisters& move, const MoveShape& shape, u32 apart) {
    const u32 width = move.packs ? 2 : 1;
    const bool halves = shape.word == "16x32bx2";
    for (u32 k = 0; k < move.slots.size(); ++k) {
        for (u32 t = 0; t < lanes; ++t) {
            const u32 column = shape.column(t, k) * width + (halves && t >= 16 ? apart : 0);
            move.cells.push_back(shape.lane(t, k) << 16 | (column & 0xffff));
            move.columns = std::max(move.columns, (column & 0xffff) + width);
        }
    }
    move.rows = shape.rows;
}

exec::TensorReduction take_reduction(Opcode& opcode) {
    using exec::TensorReduction;
    const bool greatest = opcode.take("max");
    if (!greatest && !opcode.take("min")) return TensorReduction::none;
    if (opcode.take("f32")) return greatest ? TensorReduction::f32_max : TensorReduction::f32_min;
    if (opcode.take("s32")) return greatest ? TensorReduction::s32_max : TensorReduction::s32_min;
    opcode.take("u32");
    return greatest ? TensorReduction::u32_max : TensorReduction::u32_min;
}

// tcgen05.ld{.red}.shape.num list, {reduced,} [address]{, apart}
// tcgen05.st.shape.num [address], {apart,} list
void move_registers(Builder& b, bool stores) {
    Opcode& opcode = b.opcode();
    if (opcode.take("spcompress")) return b.refuse();
    opcode.ignore({"sync", "aligned", "b32", "red"});
    opcode.take_prefix("x");
    const MoveShape* const shape = opcode.take_row(move_shapes);
    if (shape == nullptr) return b.refuse();
    exec::TensorRegisters& move = b.kernel().tensor_registers.emplace_back();
    move.packs = opcode.take("pack::16b") || opcode.take("unpack::16b");
    move.reduction = take_reduction(opcode);
    move.of_magnitudes = opcode.take("abs");
    move.keeps_nan = opcode.take("NaN");
    const bool reduces = move.reduction != exec::TensorReduction::none;
    const bool halves = shape->word == "16x32bx2";
    const u32 last = b.operand_count() - 1;
    const ptx::Operand& list = b.operand(stores ? last : 0);
    const ptx::Operand& at = b.operand(stores ? 0 : reduces ? 2 : 1);
    const u64 apart = halves ? b.operand(stores ? 1 : last).bits : 0;
    if (apart > 512) return b.refuse("with halves " + std::to_string(apart) + " columns apart");
    for (const ptx::Operand& one : b.list(list)) {
        const Slot slot = stores ? b.source(one, 'w') : b.destination(one, 'w').slot;
        move.slots.push_back(slot);
    }
    if (reduces) move.reduced = b.destination(b.operand(1), 'w').slot;
    fill_cells(move, *shape, static_cast<u32>(apart));
    const Slot address = tensor_address(b, at);
    if (b.refused()) return;
    emit_of_warp(b, stores ? Operation::store_tensor_memory : Operation::load_tensor_memory,
                 address, no_slot)
        .table = &move;
}

void copy_matrix(Builder& b) {
    Opcode& opcode = b.opcode();
    const TensorBlocks blocks = take_blocks(opcode);
    static constexpr Meaning<u8> shapes[] = {{"128x256b", 0},      {"4x256b", 1},
                                             {"128x128b", 2},      {"warpx2::02_13", 3},
                                             {"warpx2::01_23", 4}, {"warpx4", 5}};
    const auto* const shape = opcode.take_row(shapes);
    if (shape == nullptr) return b.refuse();
    opcode.ignore({"64x128b", "32x128b", "b8x16"});
    exec::TensorRowsFlags flags;
    flags.shape = shape->value;
    flags.of_6_bits = opcode.take("b6x16_p32");
    flags.of_4_bits = opcode.take("b4x16_p64");
    flags.by_pair = blocks == TensorBlocks::pair;
    const Slot descriptor = b.source(b.operand(1), 'd');
    const Slot to = tensor_address(b, b.operand(0));
    if (b.refused()) return;
    b.emit_access(Operation::copy_to_tensor_memory, {no_slot, to, descriptor}).flags = flags;
}

void shift_rows(Builder& b) {
    b.opcode().ignore({"down"});
    const TensorBlocks blocks = take_blocks(b.opcode());
    const Slot address = tensor_address(b, b.operand(0));
    if (b.refused()) return;
    b.emit(Operation::shift_tensor_memory, {no_slot, address}).flags = blocks;
}

// tcgen05.commit…{.multicast::cluster}.b64 [mbarrier]{, mask of blocks}
void commit(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"mbarrier::arrive::one", "b64"});
    take_blocks(opcode);
    const ptx::Operand& barrier = b.operand(0);
    const bool shared = take_space(b, barrier) == exec::MemorySpace::shared;
    opcode.ignore({"sync_restrict::shared::read::mma::a"});
    if (take_multicast(opcode)) {
        const Slot address = whole_addresses(b, barrier);
        const Slot blocks = b.source(b.operand(1), 'h');
        if (b.refused()) return;
        b.emit_access(Operation::arrive_at_blocks, {no_slot, address, blocks});
        return;
    }
    const bool narrow =
        barrier.kind == ptx::OperandKind::reg && b.frame().letter_of(barrier.index) == 'w';
    const LaneAddresses address = lane_addresses(b, barrier, shared || narrow);
    if (b.refused()) return;
    Op& op = b.emit_access(Operation::mbarrier_arrive, {no_slot, address.slot, no_slot});
    op.flags = exec::ArriveFlags{.once = true, .copies = true};
    op.addressing = address.addressing;
    op.imm = address.offset;
}

// Products ---------------------------------------------------------------------------------------

constexpr Meaning<TensorKind> kinds[] = {
    {"kind::f16", TensorKind::f16},           {"kind::tf32", TensorKind::tf32},
    {"kind::f8f6f4", TensorKind::f8f6f4},     {"kind::i8", TensorKind::i8},
    {"kind::mxf8f6f4", TensorKind::mxf8f6f4}, {"kind::mxf4", TensorKind::mxf4},
    {"kind::mxf4nvf4", TensorKind::mxf4nvf4}};

u32 take_scale_count(Opcode& opcode, TensorKind kind) {
    opcode.ignore({"scale_vec::1X", "scale_vec::2X", "block32"});
    const bool four = opcode.take("scale_vec::4X") || opcode.take("block16");
    if (!opcode.take("block_scale")) return 0;
    return four ? 4 : kind == TensorKind::mxf8f6f4 ? 1 : 2;
}

Element example_of(TensorKind kind) {
    if (kind == TensorKind::f16) return Element::f16;
    return kind == TensorKind::tf32 ? Element::tf32 : Element::e4m3;
}

// [d], a | [a], b, {[metadata],} instruction, {{disabled},} adds{, halvings}
// [d], a | [a], b, {[metadata],} instruction, [a's scales], [b's scales], adds
// .ws: [d], a | [a], b, {[metadata],} instruction, adds{, zero columns}
void multiply_in_tensor_memory(Builder& b) {
    Opcode& opcode = b.opcode();
    if (opcode.take("ashift")) return b.refuse("with .ashift");
    if (opcode.take("decompress::lut::b")) return b.refuse("with a lookup table");
    opcode.take_prefix("collector");
    exec::TensorProduct& plan = b.kernel().tensor_products.emplace_back();
    plan.stationary = opcode.take("ws");
    plan.sparse = opcode.take("sp");
    plan.blocks = take_blocks(opcode) == TensorBlocks::pair ? 2 : 1;
    const auto* const kind = opcode.take_row(kinds);
    if (kind == nullptr) return b.refuse();
    plan.kind = kind->value;
    plan.scales = take_scale_count(opcode, plan.kind);
    plan.precision = precision_of(b, example_of(plan.kind), false);
    if (plan.sparse) plan.precision.block = static_cast<u8>(plan.precision.block * 2);
    u32 at = 0;
    const auto next = [&]() -> const ptx::Operand& { return b.operand(at++); };
    plan.d = tensor_address(b, next());
    plan.a_in_tensor_memory = b.operand(at).address;
    plan.a = plan.a_in_tensor_memory ? tensor_address(b, next()) : b.source(next(), 'd');
    plan.b = b.source(next(), 'd');
    if (plan.sparse) plan.metadata = tensor_address(b, next());
    plan.instruction = b.source(next(), 'w');
    if (plan.scales != 0) {
        plan.a_scales = tensor_address(b, next());
        plan.b_scales = tensor_address(b, next());
    } else if (b.operand(at).kind == ptx::OperandKind::list) {
        for (const ptx::Operand& one : b.list(next()))
            plan.disabled.push_back(b.source(one, 'w'));
    }
    plan.adds = b.predicate(next());
    if (plan.stationary && at < b.operand_count()) plan.zero_columns = b.source(next(), 'd');
    if (at < b.operand_count()) {
        if (plan.kind == TensorKind::i8) return b.refuse("with a scale of integers");
        plan.halvings = static_cast<i32>(next().bits);
    }
    if (b.refused()) return;
    b.emit_access(Operation::tensor_product, {}).table = &plan;
}

void relinquish(Builder& b) {
    b.opcode().ignore({"sync", "aligned"});
    take_blocks(b.opcode());
    emit_of_warp(b, Operation::relinquish_tensor_memory, no_slot, no_slot);
}

}  // namespace

void tensor_memory(Builder& b) {
    const Word what = b.opcode().take(1);
    if (what == "alloc") return allocate(b);
    if (what == "dealloc") return free_memory(b);
    if (what == "relinquish_alloc_permit") return relinquish(b);
    if (what == "ld") return move_registers(b, false);
    if (what == "st") return move_registers(b, true);
    if (what == "cp") return copy_matrix(b);
    if (what == "shift") return shift_rows(b);
    if (what == "commit") return commit(b);
    if (what == "mma") return multiply_in_tensor_memory(b);
    if (!ptx::WordPrefix("wait").matches(what) && !ptx::WordPrefix("fence").matches(what))
        return b.refuse();
    b.opcode().ignore({"sync", "aligned"});
}

}  // namespace lode::emulator::decode
