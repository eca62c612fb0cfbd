// Branches, returns, block barriers, and instructions that stop or delay a thread.
#include "emulator/isa/control.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/isa/warp.hpp"

namespace lode::emulator::decode {

namespace {

// The guard is the condition.
void branch(Builder& b) {
    b.opcode().ignore({"uni"});  // Only a promise of uniformity.
    const ptx::Operand& to = b.operand(0);
    if (to.kind != ptx::OperandKind::label)
        return b.refuse("to the undefined label '" + std::string(to.name) + "'");
    const ptx::Instruction& instruction = b.instruction();
    if (instruction.guard < 0) return b.emit_branch(Operation::branch, no_slot, to.index);
    const Slot condition = b.frame().reg(static_cast<u32>(instruction.guard));
    if (b.join_branch(condition, instruction.guard_negated, to.index)) return;
    b.emit_branch(instruction.guard_negated ? Operation::branch_unless : Operation::branch_if,
                  condition, to.index);
}

void branch_indexed(Builder& b) {
    b.opcode().ignore({"idx", "uni"});
    const ptx::Table& table = b.function().tables[b.operand(1).index];
    const Slot index = b.source(b.operand(0), 'w');
    if (b.refused()) return;
    b.emit_branch_table(index, table.instructions);
}

void exit_threads(Builder& b) {
    b.emit(Operation::exit_threads, {});
}

void return_from(Builder& b) {
    b.opcode().ignore({"uni"});
    store_register_results(b);
    if (b.refused()) return;
    b.emit(Operation::return_from, {});
}

// multimem.ld_reduce, .st and .red, whose addresses are those of multicast objects, which no device
// here has. Kernels that only use them where the device has some run.
void access_multicast(Builder& b) {
    b.opcode().take_all();
    b.emit(Operation::multicast_access, {});
}

void trap(Builder& b) {
    b.emit(Operation::trap, {});
}

void sleep(Builder& b) {
    b.opcode().take_last();
    b.emit(Operation::sleep, {});
}

// barrier.cluster.arrive and .wait. One worker runs all threads of a cluster, so that its memory is
// always in order.
void cluster_barrier(Builder& b) {
    b.opcode().ignore({"release", "acquire", "wait"});
    const MemoryOrder order{.gpu = true, .release = !b.opcode().take("relaxed")};
    const bool arrives = b.opcode().take("arrive");
    b.emit(arrives ? Operation::cluster_arrive : Operation::cluster_wait, {}).order = order;
}

// bar.warp.sync
void warp_barrier(Builder& b) {
    b.opcode().take("sync");
    const Slot members = b.source(b.operand(0), 'w');
    if (b.refused()) return;
    b.emit(Operation::warp_barrier, {}).r[exec::members_operand] = members;
}

// bar and barrier: .sync, .arrive, .red.popc.u32, .red.and.pred, .red.or.pred
void barrier(Builder& b) {
    using exec::BarrierKind;
    Opcode& opcode = b.opcode();
    const bool aligned = opcode.take("aligned") || opcode.name() == "bar";
    opcode.ignore({"cta"});
    if (opcode.take("cluster")) return cluster_barrier(b);
    if (opcode.take("warp")) return warp_barrier(b);
    u32 at = 0;
    auto kind = BarrierKind::sync;
    Destination to;
    opcode.take("sync");
    if (opcode.take("arrive")) kind = BarrierKind::arrive;
    const bool reduces = opcode.take("red");
    if (reduces) {
        if (opcode.take("popc")) kind = BarrierKind::popc;
        if (opcode.take("and")) kind = BarrierKind::all;
        if (opcode.take("or")) kind = BarrierKind::any;
        opcode.take_last();  // The operation implies the type.
        to = b.destination(b.operand(at++), kind == BarrierKind::popc ? 'w' : 'p');
    }
    const Slot id = b.source(b.operand(at++), 'w');
    const u32 left = b.operand_count() - at - (reduces ? 1 : 0);
    const Slot count = left > 0 ? b.source(b.operand(at++), 'w') : no_slot;
    const Slot votes = reduces ? b.predicate(b.operand(at)) : no_slot;
    if (b.refused()) return;
    b.emit(Operation::block_barrier, {to.slot, id, count, votes}).flags =
        exec::BarrierFlags{kind, aligned};
    b.write_back(to);
}

// alloca.u64 %rd, %rd, 16; without an alignment it is 8.
void allocate_stack(Builder& b) {
    b.opcode().take_last();
    const Slot used = b.frame().allocated();
    const Slot size = b.source(b.operand(1), 'd');
    const Destination to = b.destination(b.operand(0), 'd');
    if (b.refused()) return;
    const u64 alignment = b.operand_count() > 2 ? b.operand(2).bits : 8;
    b.emit(Operation::stack_allocate, {used, to.slot, size}).imm = alignment;
    b.write_back(to);
}

void save_stack(Builder& b) {
    b.opcode().take_last();
    const Slot used = b.frame().allocated();
    const Destination to = b.destination(b.operand(0), 'd');
    if (b.refused()) return;
    b.emit(Operation::stack_save, {used, to.slot});
    b.write_back(to);
}

void restore_stack(Builder& b) {
    b.opcode().take_last();
    const Slot used = b.frame().allocated();
    const Slot saved = b.source(b.operand(0), 'd');
    if (b.refused()) return;
    b.emit(Operation::stack_restore, {used, saved});
}

constexpr OpcodeDecoder control_decoders[] = {{"bra", branch},
                                              {"brx", branch_indexed},
                                              {"exit", exit_threads},
                                              {"ret", return_from},
                                              {"trap", trap},
                                              {"multimem", access_multicast},
                                              {"brkpt", trap},
                                              {"nanosleep", sleep},
                                              {"bar", barrier},
                                              {"barrier", barrier},
                                              {"alloca", allocate_stack},
                                              {"stacksave", save_stack},
                                              {"stackrestore", restore_stack}};

}  // namespace

OpcodeDecoders control_opcodes() noexcept {
    return control_decoders;
}

}  // namespace lode::emulator::decode
