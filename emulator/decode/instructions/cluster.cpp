// Addresses of the shared memory of other blocks in a cluster, and asynchronous stores to them.
#include "emulator/isa/cluster.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/async.hpp"

namespace lode::emulator::decode {

namespace {

// mapa{.shared::cluster}.type d, a, rank
void map_address(Builder& b) {
    Opcode& opcode = b.opcode();
    const char letter = opcode.take_last() == "u32" ? 'w' : 'd';
    opcode.ignore({"shared::cluster"});
    // The op works on 64 bits, of which a 32-bit address has the low half.
    const Slot address = b.source(b.operand(1), letter);
    const Slot rank = b.source(b.operand(2), 'w');
    const Destination to = b.destination(b.operand(0), letter);
    if (b.refused()) return;
    if (letter == 'd') {
        b.emit(Operation::map_shared, {to.slot, address, rank});
    } else {
        const Slot wide = b.temporary('d');
        b.emit_row("cvt.u64.u32", {wide, address});
        b.emit(Operation::map_shared, {wide, wide, rank});
        b.emit_row("cvt.u32.u64", {to.slot, wide});
    }
    b.write_back(to);
}

// getctarank{.shared::cluster}.type d, a
void rank_of_address(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.take_last();
    opcode.ignore({"shared::cluster"});
    const Slot address = b.source(b.operand(1), 'd');
    const Destination to = b.destination(b.operand(0), 'w');
    if (b.refused()) return;
    b.emit(Operation::rank_of_shared, {to.slot, address});
    b.write_back(to);
}

// clusterlaunchcontrol.try_cancel.async{.shared::cta}.….b128 [response], [mbarrier]
void cancel_launch(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"async", "mbarrier::complete_tx::bytes", "b128"});
    exec::CancelFlags flags;
    flags.generic = !opcode.take("shared::cta");
    flags.multicast = opcode.take("multicast::cluster::all");
    const auto address = [&](const ptx::Operand& operand) {
        if (!flags.generic || space_named(b, operand) != exec::MemorySpace::shared)
            return whole_addresses(b, operand);
        return b.constant(window_tag(Window::shared) | *b.known_address(operand), 8);
    };
    const Slot response = address(b.operand(0));
    const Slot barrier = address(b.operand(1));
    if (b.refused()) return;
    b.emit(Operation::try_cancel, {no_slot, response, barrier}).flags = flags;
}

// clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; .get_first_ctaid{::x}….b32.b128
void query_launch(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"b128", "b32", "pred"});
    const Slot response = b.source(b.operand(1), 'q');
    if (opcode.take("is_canceled")) {
        const Destination to = b.destination(b.operand(0), 'p');
        if (b.refused()) return;
        b.emit(Operation::is_cancelled, {to.slot, response});
        return b.write_back(to);
    }
    const auto coordinate = [&](const ptx::Operand& operand, u16 axis) {
        if (operand.kind == ptx::OperandKind::sink) return;
        const Destination to = b.destination(operand, 'w');
        if (b.refused()) return;
        b.emit(Operation::first_cancelled, {to.slot, response}).flags = axis;
        b.write_back(to);
    };
    if (opcode.take("get_first_ctaid")) {
        opcode.take("v4");
        u16 axis = 0;
        for (const ptx::Operand& part : b.list(b.operand(0)))
            coordinate(part, axis++);
        return;
    }
    u16 axis = 0;
    if (opcode.take("get_first_ctaid::y")) axis = 1;
    if (opcode.take("get_first_ctaid::z")) axis = 2;
    opcode.take("get_first_ctaid::x");
    coordinate(b.operand(0), axis);
}

void launch_control(Builder& b) {
    if (b.opcode().take("try_cancel")) return cancel_launch(b);
    b.opcode().take("query_cancel");
    query_launch(b);
}

constexpr OpcodeDecoder cluster_decoders[] = {{"mapa", map_address},
                                              {"getctarank", rank_of_address},
                                              {"clusterlaunchcontrol", launch_control}};

}  // namespace

void emit_complete_bytes(Builder& b, const ptx::Operand& barrier, u32 bytes) {
    const bool shared = b.instruction().traits.space == ptx::Space::shared ||
                        space_named(b, barrier) == exec::MemorySpace::shared;
    const LaneAddresses address = lane_addresses(b, barrier, shared);
    const Slot count = b.constant(bytes, 4);
    if (b.refused()) return;
    Op& op = b.emit_access(Operation::mbarrier_arrive, {no_slot, address.slot, count});
    op.flags = exec::ArriveFlags{.nothing = true, .complete = true};
    op.addressing = address.addressing;
    op.imm = address.offset;
}

OpcodeDecoders cluster_opcodes() noexcept {
    return cluster_decoders;
}

}  // namespace lode::emulator::decode
