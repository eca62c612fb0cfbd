// Asynchronous copies and mbarriers. Copies run synchronously, so groups are always complete.
#include "emulator/isa/async.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

Op& emit_mbarrier(Builder& b, Operation operation, Slot result, const LaneAddresses& address,
                  Slot value) {
    Op& op = b.emit_access(operation, {result, address.slot, value});
    op.addressing = address.addressing;
    op.imm = address.offset;
    return op;
}

// cp.async.mbarrier.arrive arrives when prior copies are complete, which is at once. Without .noinc
// it first increments the pending count, so the net effect is nothing.
/// commit_group, wait_group and wait_all.
void copy_group(Builder& b, bool bulk, bool waits, bool all) {
    b.opcode().ignore({"sync_restrict::proxy::async"});
    const bool reads_only = b.opcode().take("read");
    const u64 left = all ? exec::wait_for_all : waits ? b.operand(0).bits : 0;
    Op& op = b.emit(waits ? Operation::copy_wait : Operation::copy_commit, {});
    op.flags = exec::CopyGroupFlags{bulk, reads_only};
    op.imm = left;
}

void copy_arrive(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"arrive", "b64"});
    b.emit(Operation::copy_wait, {}).imm = exec::wait_for_all;
    const bool shared = take_space(b, b.operand(0)) == exec::MemorySpace::shared;
    if (!opcode.take("noinc")) return;
    const LaneAddresses address = lane_addresses(b, b.operand(0), shared);
    if (b.refused()) return;
    emit_mbarrier(b, Operation::mbarrier_arrive, no_slot, address, no_slot).flags =
        exec::ArriveFlags{.once = true};
}

// One-dimensional cp.async.bulk.
void copy_bulk(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"async", "bulk"});
    if (opcode.take("commit_group")) return copy_group(b, true, false, false);
    if (opcode.take("wait_group")) return copy_group(b, true, true, false);
    opcode.ignore({"L2::cache_hint", "L2::evict_last", "L2::evict_normal"});
    if (opcode.take("prefetch") || opcode.name() == "applypriority") {
        opcode.ignore({"L2", "global", "bulk_group"});
        const Slot from = whole_addresses(b, b.operand(0));
        const Slot size = b.source(b.operand(1), 'w');
        if (b.refused()) return;
        b.emit_access(Operation::copy_bulk, {no_slot, from, from, size, no_slot}).flags =
            exec::BulkFlags{.prefetches = true};
        return;
    }
    // cp{.reduce}.async.bulk.<destination>.<source>…{.operation.type} [to], [from], size
    // {, bytes to ignore at the start, and at the end}{, [mbarrier]}{, mask of blocks}{, policy}
    // {, mask of bytes}
    exec::BulkFlags flags;
    flags.reduces = opcode.take("reduce");
    if (flags.reduces) {
        const auto type = atomic_type(opcode.take_last(), false);
        const auto what = take_operation(opcode);
        opcode.ignore({"noftz"});
        if (!type || !what) return b.refuse();
        flags.reduction = *what;
        flags.type = *type;
    }
    const auto& spaces = b.instruction().reading->spaces;
    flags.to_shared = spaces[0] == ptx::Space::shared;
    flags.from_shared = spaces[1] == ptx::Space::shared;
    flags.ignores = opcode.take("ignore_oob");
    opcode.ignore({"global", "shared::cta", "shared::cluster", "weak", "relaxed", "b128"});
    ignore_scope(opcode);
    if (take_report(opcode)) return b.refuse(with_report);
    const bool counts = opcode.take("mbarrier::complete_tx::bytes");
    const bool to_many = take_multicast(opcode);
    const bool masks = opcode.take("cp_mask");
    opcode.ignore({"bulk_group"});
    const Slot to = whole_addresses(b, b.operand(0));
    const Slot from = whole_addresses(b, b.operand(1));
    const Slot size = b.source(b.operand(2), 'w');
    const u32 at = flags.ignores ? 5 : 3;
    const Slot barrier = counts ? whole_addresses(b, b.operand(at)) : no_slot;
    Slot blocks = to_many ? b.source(b.operand(at + 1), 'h') : no_slot;
    Slot bytes = masks ? b.source(b.operand(b.operand_count() - 1), 'h') : no_slot;
    if (flags.ignores) {
        blocks = b.source(b.operand(3), 'w');
        bytes = b.source(b.operand(4), 'w');
    }
    if (b.refused()) return;
    b.emit_access(Operation::copy_bulk, {no_slot, to, from, size, barrier, blocks, bytes}).flags =
        flags;
}

// cp.async.<cache>.shared.global [to], [from], bytes{, bytes to read | ignore predicate}{, policy}
void copy_async(Builder& b) {
    Opcode& opcode = b.opcode();
    const u32 bulk = opcode.peek(1) == "reduce" ? 3 : 2;
    if (opcode.peek(bulk + 1) == "tensor" || opcode.peek(bulk + 2) == "tensor")
        return copy_tensor(b);
    if (opcode.peek(bulk) == "bulk") return copy_bulk(b);
    opcode.take("async");
    if (opcode.take("commit_group")) return copy_group(b, false, false, false);
    if (opcode.take("wait_group")) return copy_group(b, false, true, false);
    if (opcode.take("wait_all")) return copy_group(b, false, true, true);
    if (opcode.take("mbarrier")) return copy_arrive(b);
    const bool has_policy = opcode.take("L2::cache_hint");
    ignore_caches(opcode);
    opcode.take_prefix("shared");
    opcode.take("global");
    const u32 given = b.operand_count();
    if (given < 3 || b.operand(2).kind != OperandKind::integer) return b.refuse();
    const u64 bytes = b.operand(2).bits;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return b.refuse("with a size of " + std::to_string(bytes) + " bytes");
    const Slot to = whole_addresses(b, b.operand(0));
    const Slot from = whole_addresses(b, b.operand(1));
    Slot wanted = no_slot;
    Slot ignored = no_slot;
    for (u32 k = 3; k < given; ++k) {
        const ptx::Operand& extra = b.operand(k);
        if (extra.kind == OperandKind::reg && b.frame().letter_of(extra.index) == 'p') {
            ignored = b.predicate(extra);
        } else if (k == 3 && !(has_policy && given == 4)) {
            wanted = b.source(extra, 'w');
        }
    }
    if (b.refused()) return;
    b.emit_access(Operation::copy_async, {no_slot, to, from, wanted, ignored}).flags =
        static_cast<u16>(bytes);
}

// mbarrier.test_wait and .try_wait: p{|failed}{, report}, [address], state or parity. No operation
// of the device fails, so that nothing is reported, and both kinds of phases are one.
void mbarrier_wait(Builder& b, Word what, bool shared) {
    b.opcode().ignore({"phase_type::primary", "phase_type::conditional"});
    const u32 at = b.operand(1).address ? 1 : 2;
    const LaneAddresses address = lane_addresses(b, b.operand(at), shared);
    const bool parity = b.opcode().take("parity");
    const Slot value = b.source(b.operand(at + 1), parity ? 'w' : 'd');
    const Destination to = b.destination(b.operand(0), 'p');
    if (const Slot failed = b.second_destination(b.operand(0)); failed != no_slot) {
        ptx::Operand no;
        no.kind = OperandKind::integer;
        b.emit_row("mov.pred", {failed, b.predicate(no)});
    }
    if (at == 2) {
        const Destination report = b.destination(b.operand(1), 'b');
        b.emit_row("mov.b8", {report.slot, b.constant(0, 1)});
        b.write_back(report);
    }
    if (b.refused()) return;
    emit_mbarrier(b, Operation::mbarrier_test, to.slot, address, value).flags =
        exec::MbarrierTestFlags{parity, what == "try_wait"};
    b.write_back(to);
}

// mbarrier.arrive and .arrive_drop: {state, }[address]{, count}; .expect_tx and .complete_tx:
// [address], bytes
void mbarrier_arrive(Builder& b, Word what, bool shared) {
    const bool arrives = what == "arrive" || what == "arrive_drop";
    const u32 at = b.operand(0).address ? 0 : 1;  // "_" precedes it where there is no result.
    const LaneAddresses address = lane_addresses(b, b.operand(at), shared);
    exec::ArriveFlags flags;
    flags.expect_tx = what == "expect_tx" || b.opcode().take("expect_tx");
    flags.complete = what == "complete_tx";
    flags.nothing = !arrives;
    flags.drop = what == "arrive_drop";
    const Slot value = b.operand_count() > at + 1 ? b.source(b.operand(at + 1), 'w') : no_slot;
    const bool wanted =
        b.instruction().traits.results != 0 && b.operand(0).kind != OperandKind::sink;
    const Destination to = wanted ? b.destination(b.operand(0), 'd') : Destination{};
    if (b.refused()) return;
    emit_mbarrier(b, Operation::mbarrier_arrive, to.slot, address, value).flags = flags;
    b.write_back(to);
}

void mbarrier(Builder& b) {
    Opcode& opcode = b.opcode();
    const Word what = opcode.take(1);
    opcode.take_last();
    u32 at = 0;
    while (at + 1 < b.operand_count() && !b.operand(at).address)
        ++at;
    const bool shared = take_space(b, b.operand(at)) == exec::MemorySpace::shared;
    ignore_scope(opcode);
    opcode.ignore({"acquire", "release", "relaxed", "noComplete"});
    if (what == "test_wait" || what == "try_wait") return mbarrier_wait(b, what, shared);
    if (what == "arrive" || what == "arrive_drop" || what == "expect_tx" || what == "complete_tx")
        return mbarrier_arrive(b, what, shared);
    const bool has_second_layout = opcode.take("layout::v1");
    opcode.take("layout::v0");
    if (what == "pending_count") {
        const Destination to = b.destination(b.operand(0), 'w');
        const Slot state = b.source(b.operand(1), 'd');
        if (b.refused()) return;
        b.emit(Operation::mbarrier_pending_count, {to.slot, state});
        return b.write_back(to);
    }
    if (what == "check_layout") {
        const LaneAddresses address = lane_addresses(b, b.operand(1), shared);
        const Destination to = b.destination(b.operand(0), 'p');
        if (b.refused()) return;
        emit_mbarrier(b, Operation::mbarrier_check_layout, to.slot, address, no_slot).flags =
            has_second_layout;
        return b.write_back(to);
    }
    if (what != "init" && what != "inval") return b.refuse();
    const LaneAddresses address = lane_addresses(b, b.operand(0), shared);
    const Slot count = what == "init" ? b.source(b.operand(1), 'w') : no_slot;
    if (b.refused()) return;
    emit_mbarrier(b, what == "init" ? Operation::mbarrier_init : Operation::mbarrier_invalidate,
                  no_slot, address, count)
        .flags = has_second_layout;
}

// Priorities in caches have no effect; those of bulk operations check their memory.
void apply_priority(Builder& b) {
    const Opcode& opcode = b.opcode();
    if (opcode.peek(3) == "tensor") return copy_tensor(b);
    if (opcode.peek(2) == "bulk") return copy_bulk(b);
    b.opcode().take_all();
}

constexpr OpcodeDecoder async_decoders[] = {
    {"applypriority", apply_priority}, {"cp", copy_async}, {"mbarrier", mbarrier}};

}  // namespace

OpcodeDecoders async_opcodes() noexcept {
    return async_decoders;
}

}  // namespace lode::emulator::decode
