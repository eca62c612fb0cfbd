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

constexpr OpcodeDecoder cluster_decoders[] = {{"mapa", map_address},
                                              {"getctarank", rank_of_address}};

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
