// Branches, calls, barriers and operations across a warp.
#include "emulator/decode/ops/control.hpp"

#include "emulator/decode/decoder.hpp"
#include "emulator/decode/ops/warp.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lode::emulator::decode {

using ptx::OperandKind;

void Decoder::branch() {
    parts_.ignore({"uni"});  // A promise.
    const ptx::Operand& to = operand(0);
    if (to.kind != OperandKind::label) {
        return refuse("to the undefined label '" + std::string(to.name) + "'");
    }
    Handler handler = &exec::branch;
    Slot condition = no_slot;
    if (instruction_->guard >= 0) {
        handler = instruction_->guard_negated ? &exec::branch_unless : &exec::branch_if;
        condition = slots_[static_cast<u32>(instruction_->guard)];
    }
    emit(handler, {condition}, 0);
    branches_.emplace_back(static_cast<u32>(code_.ops.size()) - 1, to.index);
}

void Decoder::branch_indexed() {
    parts_.ignore({"idx", "uni"});
    const std::vector<u32>& targets = function_.tables[operand(1).index].instructions;
    const Slot index = source_of(operand(0), 'w');
    if (refusal_) return;
    code_.jump_tables.emplace_back(targets.size());
    emit(&exec::branch_indexed, {index}, 0).table = &code_.jump_tables.back();
    // The table is filled when the ops have their final places.
    for (u32 k = 0; k < targets.size(); ++k) {
        jump_fixes_.push_back({&code_.jump_tables.back()[k], targets[k]});
    }
}

void Decoder::exit_op() {
    emit(&exec::exit_threads, {}, 0);
}
void Decoder::return_op() {
    parts_.ignore({"uni"});
    move_register_parameters(true);
    if (refusal_) return;
    emit(&exec::return_from, {}, 0);
}
void Decoder::trap_op() {
    emit(&exec::trap, {}, 0);
}
void Decoder::sleep_op() {
    parts_.take_last();
    emit(&exec::sleep, {}, 0);
}

// bar and barrier: .sync, .arrive, .red.popc.u32, .red.and.pred, .red.or.pred
void Decoder::barrier() {
    parts_.ignore({"cta", "aligned"});
    if (parts_.take("cluster")) {
        // A block is a cluster of its own.
        parts_.ignore({"release", "relaxed", "acquire"});
        if (parts_.take("arrive")) return;
        parts_.take("wait");
        Op& op = emit(&exec::block_barrier, {no_slot, constant(0, 4), no_slot, no_slot}, 0);
        op.flags = static_cast<u16>(exec::BarrierKind::sync);
        return;
    }
    if (parts_.take("warp")) {
        parts_.take("sync");
        const Slot members = source_of(operand(0), 'w');
        if (refusal_) return;
        emit(&exec::warp_barrier, {}, 0).r[exec::members_operand] = members;
        return;
    }
    u32 at = 0;
    auto kind = exec::BarrierKind::sync;
    Target target;
    parts_.take("sync");
    if (parts_.take("arrive")) kind = exec::BarrierKind::arrive;
    if (parts_.take("red")) {
        if (parts_.take("popc")) kind = exec::BarrierKind::popc;
        if (parts_.take("and")) kind = exec::BarrierKind::all;
        if (parts_.take("or")) kind = exec::BarrierKind::any;
        parts_.take_last();  // Its type follows from the operation.
        target = target_of(operand(at++), kind == exec::BarrierKind::popc ? 'w' : 'p');
    }
    const Slot id = source_of(operand(at++), 'w');
    Slot votes = no_slot;
    Slot count = no_slot;
    u32 left = operand_count() - at;
    if (kind >= exec::BarrierKind::popc) --left;
    if (left > 0) count = source_of(operand(at++), 'w');
    if (kind >= exec::BarrierKind::popc) votes = predicate_source(operand(at));
    if (refusal_) return;
    emit(&exec::block_barrier, {target.written, id, count, votes},
         target.written == no_slot ? 0 : 1)
        .flags = static_cast<u16>(kind);
    settle(target);
}

// shfl, vote, match, redux, elect, activemask
void Decoder::warp_op() {
    const std::string_view base = parts_.base();
    const ptx::Operand& to = operand(0);
    Slot second = no_slot;
    if (to.pair >= 0) second = slots_[static_cast<u32>(to.pair)];
    Target target;
    if (base == "activemask") {
        parts_.take_last();
        target = target_of(to, 'w');
        if (refusal_) return;
        emit(&exec::active_mask, {target.written});
        return settle(target);
    }
    if (!parts_.take("sync")) return refuse("without .sync");
    Op made;
    u8 defines = 3;
    if (base == "shfl") {
        parts_.ignore({"idx", "b32"});
        exec::Shuffle kind = exec::Shuffle::index;
        if (parts_.take("up")) kind = exec::Shuffle::up;
        if (parts_.take("down")) kind = exec::Shuffle::down;
        if (parts_.take("bfly")) kind = exec::Shuffle::butterfly;
        target = target_of(to, 'w');
        made.run = &exec::shuffle;
        made.flags = static_cast<u16>(kind);
        made.r[2] = source_of(operand(1), 'w');
        made.r[3] = source_of(operand(2), 'w');
        made.r[4] = source_of(operand(3), 'w');
        made.r[exec::members_operand] = source_of(operand(4), 'w');
        const auto b = known_number(operand(2));
        const auto e = known_number(operand(3));
        const auto members = known_number(operand(4));
        if (b && e && members) {
            made.run = &exec::shuffle_fixed;
            made.table =
                &build_.kernel->shuffles.emplace_back(exec::fixed_shuffle(kind, *b, *e, *members));
        }
    } else if (base == "vote") {
        parts_.ignore({"all", "pred", "b32"});
        exec::Vote kind = exec::Vote::all;
        if (parts_.take("any")) kind = exec::Vote::any;
        if (parts_.take("uni")) kind = exec::Vote::uniform;
        if (parts_.take("ballot")) kind = exec::Vote::ballot;
        target = target_of(to, kind == exec::Vote::ballot ? 'w' : 'p');
        made.run = &exec::vote;
        made.flags = static_cast<u16>(kind);
        made.r[2] = predicate_source(operand(1));
        made.r[exec::members_operand] = source_of(operand(2), 'w');
        defines = 1;
    } else if (base == "match") {
        const bool wide = parts_.take_last() == "b64";
        parts_.ignore({"any"});
        target = target_of(to, 'w');
        made.run = wide ? &exec::match64 : &exec::match32;
        made.flags = parts_.take("all") ? 1 : 0;
        made.r[2] = source_of(operand(1), wide ? 'd' : 'w');
        made.r[exec::members_operand] = source_of(operand(2), 'w');
    } else if (base == "redux") {
        static constexpr std::pair<std::string_view, exec::Reduction> kinds[] = {
            {"add.u32", exec::Reduction::add},     {"add.s32", exec::Reduction::add},
            {"min.u32", exec::Reduction::min_u},   {"max.u32", exec::Reduction::max_u},
            {"min.s32", exec::Reduction::min_s},   {"max.s32", exec::Reduction::max_s},
            {"and.b32", exec::Reduction::bit_and}, {"or.b32", exec::Reduction::bit_or},
            {"xor.b32", exec::Reduction::bit_xor}, {"min.f32", exec::Reduction::min_f},
            {"max.f32", exec::Reduction::max_f}};
        const std::string name =
            std::string(parts_.take(2)) + "." + std::string(parts_.take_last());
        const auto found = std::ranges::find(kinds, std::string_view(name),
                                             [](const auto& pair) { return pair.first; });
        if (found == std::end(kinds)) return refuse();
        target = target_of(to, 'w');
        made.run = &exec::reduce;
        made.flags = static_cast<u16>(found->second);
        if (parts_.take("abs")) made.flags |= exec::reduce_abs;
        if (parts_.take("NaN")) made.flags |= exec::reduce_nan;
        made.r[2] = source_of(operand(1), 'w');
        made.r[exec::members_operand] = source_of(operand(2), 'w');
        defines = 1;
    } else {  // elect
        target = target_of(to, 'w');
        made.run = &exec::elect;
        made.r[exec::members_operand] = source_of(operand(1), 'w');
    }
    if (refusal_) return;
    made.r[0] = target.written;
    made.r[1] = second;
    Op& op = emit(made.run, {}, defines);
    std::copy(std::begin(made.r), std::end(made.r), op.r);
    op.flags = made.flags;
    op.imm = made.imm;
    settle(target);
}

}  // namespace lode::emulator::decode
