// Code for the ops of a region: comparisons and branches.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"

#include <algorithm>
#include <cstddef>

namespace lode::emulator::exec {

void Tracer::emit_comparison(const Step& step) {
    const Op& op = *step.op;
    const Compare compare = step.kind.compare;
    const auto a = scalar(op.r[1]);
    const auto b = scalar(op.r[2]);
    if (a && b && a->stride == b->stride && compare <= Compare::ne) {
        load_number(eax, *a);
        load_number(ecx, *b);
        cmp(eax, ecx);
        sete(al);
        movzx(eax, al);
        if (compare == Compare::eq) {
            neg(eax);
        } else {
            dec(eax);
        }
    } else if (a && b && a->stride == 0 && b->stride == 0 && compare != Compare::real) {
        load_number(eax, *a);
        load_number(ecx, *b);
        cmp(eax, ecx);
        switch (compare) {
            case Compare::lt_u:
                setb(al);
                break;
            case Compare::le_u:
                setbe(al);
                break;
            case Compare::gt_u:
                seta(al);
                break;
            case Compare::ge_u:
                setae(al);
                break;
            case Compare::lt_s:
                setl(al);
                break;
            case Compare::le_s:
                setle(al);
                break;
            case Compare::gt_s:
                setg(al);
                break;
            default:
                setge(al);
                break;
        }
        movzx(eax, al);
        neg(eax);
    } else {
        bool inverted = false;
        for (u32 q = 0; q < 4; ++q) {
            const Xbyak::Ymm x = quarter(op.r[1], q);
            const Xbyak::Ymm y = quarter(op.r[2], q);
            inverted = compare == Compare::ne || compare == Compare::le_s ||
                       compare == Compare::ge_s || compare == Compare::lt_u ||
                       compare == Compare::gt_u;
            switch (compare) {
                case Compare::eq:
                case Compare::ne:
                    vpcmpeqd(ymm0, x, y);
                    break;
                case Compare::gt_s:
                case Compare::le_s:
                    vpcmpgtd(ymm0, x, y);
                    break;
                case Compare::lt_s:
                case Compare::ge_s:
                    vpcmpgtd(ymm0, y, x);
                    break;
                case Compare::ge_u:
                case Compare::lt_u:
                    vpmaxud(ymm0, x, y);
                    vpcmpeqd(ymm0, ymm0, x);
                    break;
                case Compare::le_u:
                case Compare::gt_u:
                    vpminud(ymm0, x, y);
                    vpcmpeqd(ymm0, ymm0, x);
                    break;
                case Compare::real:
                    vcmpps(ymm0, x, y, step.kind.predicate);
                    break;
            }
            release();
            if (q == 0) {
                vmovmskps(eax, ymm0);
                continue;
            }
            vmovmskps(edx, ymm0);
            shl(edx, static_cast<int>(8 * q));
            or_(eax, edx);
        }
        if (inverted) not_(eax);
    }
    mov(memory_of(op.r[0]), eax);
}

void Tracer::emit_branch(const Step& step) {
    const Op& op = *step.op;
    if (step.kind.action == Action::branch) {
        // The path goes on at a target behind it.
        if (op.target <= &op) jmp(add_taken(step, false).label, T_NEAR);
        return;
    }
    Taken& taken = add_taken(step, true);
    if (step.kind.action == Action::compare_and_branch) {
        emit_comparison(step);
        if (op.flags != 0) not_(eax);
    } else {
        mov(eax, memory_of(op.r[0]));
        if (step.kind.action == Action::branch_unless) not_(eax);
    }
    test(eax, eax);
    jnz(taken.label, T_NEAR);
}

Tracer::Taken& Tracer::add_taken(const Step& step, bool conditional) {
    Taken& taken = taken_.emplace_back();
    taken.step = &step;
    taken.conditional = conditional;
    const bool loop = step.op->target == region_.first;
    taken.pending = loop ? pending() : pending_at(step.op->target);
    taken.partly = &exit_at(step);
    for (const Assumed& one : assumed_)
        taken.assumed.push_back(scalar(one.slot, one.wide));
    return taken;
}

void Tracer::emit_taken(Taken& taken) {
    L(taken.label);
    const Step& step = *taken.step;
    if (taken.conditional) {
        cmp(eax, -1);
        jne(*taken.partly, T_NEAR);
    }
    const Op* const target = step.op->target;
    constexpr auto budget = static_cast<u32>(offsetof(WarpContext, budget));
    if (target <= step.op) {
        cmp(qword[rbx + budget], 1);
        jle(*taken.partly, T_NEAR);
        dec(qword[rbx + budget]);
    }
    if (target != region_.first) {
        Exit exit;
        exit.target = target;
        exit.instructions = instructions_with(step);
        exit.pending = taken.pending;
        emit_exit(exit);
        return;
    }
    add(qword[rbx + static_cast<u32>(offsetof(WarpContext, compiled_instructions))],
        instructions_with(step) + path_.front().op->instructions);
    bool same = true;
    for (std::size_t k = 0; k < assumed_.size(); ++k) {
        const auto& now = taken.assumed[k];
        same =
            same && now && now->place == Scalar::Place::stack && now->stride == assumed_[k].stride;
    }
    const auto is_assumed = [&](Slot slot) {
        return std::ranges::any_of(assumed_, [&](const Assumed& one) { return one.slot == slot; });
    };
    for (const Pending& one : taken.pending)
        if (!same || !is_assumed(one.slot)) store_row(one);
    if (!same) {
        jmp(guards_, T_NEAR);
        return;
    }
    // Two steps, because a value may be another's former one.
    struct Move {
        u32 between, to;
        bool wide;
    };
    std::vector<Move> moves;
    for (std::size_t k = 0; k < assumed_.size(); ++k) {
        const auto from = static_cast<u32>(taken.assumed[k]->at);
        if (from == assumed_[k].at) continue;
        const u32 between = scratch_begin + static_cast<u32>(moves.size()) * 8;
        move_number(from, between, assumed_[k].wide);
        moves.push_back({between, assumed_[k].at, assumed_[k].wide});
    }
    for (const Move& one : moves)
        move_number(one.between, one.to, one.wide);
    jmp(loop_, T_NEAR);
}

}  // namespace lode::emulator::exec

#endif
