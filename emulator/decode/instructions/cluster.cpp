// Addresses of the shared memory of other blocks in a cluster, and asynchronous stores to them.
#include "emulator/decode/ops/cluster.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/decode/ops/async.hpp"

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
        b.emit(&exec::map_shared, {to.slot, address, rank});
    } else {
        const Slot wide = b.temporary('d');
        b.emit_row("cvt.u64.u32", {wide, address});
        b.emit(&exec::map_shared, {wide, wide, rank});
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
    b.emit(&exec::rank_of_shared, {to.slot, address});
    b.write_back(to);
}

// clusterlaunchcontrol.try_cancel [answer], [mbarrier]
void try_cancel(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"async", "shared::cta", "mbarrier::complete_tx::bytes", "b128"});
    const bool to_all = opcode.take("multicast::cluster::all");
    const Slot answer = whole_addresses(b, b.operand(0));
    const Slot barrier = whole_addresses(b, b.operand(1));
    if (b.refused()) return;
    b.emit_access(&exec::cancel_cluster, {no_slot, answer, barrier}).flags = to_all ? 1 : 0;
}

void control_launches(Builder& b) {
    Opcode& opcode = b.opcode();
    if (opcode.take(1) == "try_cancel") return try_cancel(b);
    opcode.ignore({"pred", "v4", "b32", "b128", "get_first_ctaid"});
    const Slot answer = b.source(b.operand(1), 'q');
    if (opcode.take("is_canceled")) {
        const Destination to = b.destination(b.operand(0), 'p');
        if (b.refused()) return;
        b.emit(&exec::is_cluster_canceled, {to.slot, answer});
        return b.write_back(to);
    }
    const auto list = b.list(b.operand(0));
    u16 first = 0;
    if (opcode.take("get_first_ctaid::y")) first = 1;
    if (opcode.take("get_first_ctaid::z")) first = 2;
    opcode.ignore({"get_first_ctaid::x"});
    for (u16 k = 0; k < list.size(); ++k) {
        if (list[k].kind == ptx::OperandKind::sink) continue;
        const Destination to = b.destination(list[k], 'w');
        if (b.refused()) return;
        b.emit(&exec::first_block_of_canceled, {to.slot, answer}).flags =
            static_cast<u16>(first + k);
        b.write_back(to);
    }
}

constexpr OpcodeDecoder cluster_decoders[] = {{"mapa", map_address},
                                              {"getctarank", rank_of_address},
                                              {"clusterlaunchcontrol", control_launches}};

}  // namespace

void emit_complete_bytes(Builder& b, const ptx::Operand& barrier, bool shared, u32 bytes) {
    const LaneAddresses address = lane_addresses(b, barrier, shared);
    const Slot count = b.constant(bytes, 4);
    if (b.refused()) return;
    Op& op = b.emit_access(&exec::mbarrier_arrive, {no_slot, address.slot, count});
    op.flags = exec::arrive_nothing | exec::arrive_complete;
    op.flags2 = address.window_flags;
    op.imm = address.offset;
}

OpcodeDecoders cluster_opcodes() noexcept {
    return cluster_decoders;
}

}  // namespace lode::emulator::decode
