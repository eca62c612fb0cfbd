// Code for the ops of a region: comparisons and branches.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"
#include "emulator/isa/control.hpp"

#include <algorithm>
#include <cstddef>

namespace lode::emulator::exec {

namespace {

/// The relation of two numbers that don't have this one.
Compare opposite(Compare compare) {
    const auto number = static_cast<u32>(compare);
    if (compare <= Compare::ne) return static_cast<Compare>(number ^ 1);
    const Compare lowest = compare < Compare::lt_s ? Compare::lt_u : Compare::lt_s;
    const auto highest = static_cast<u32>(lowest) + 3;
    return static_cast<Compare>(static_cast<u32>(lowest) + highest - number);
}

}  // namespace

/// Makes a register a quarter of a number's row.
void Tracer::emit_lanes(const Xbyak::Ymm& to, const Scalar& value, u32 q) {
    load_number(edx, value);
    vmovd(Xbyak::Xmm(to.getIdx()), edx);
    vpbroadcastd(to, Xbyak::Xmm(to.getIdx()));
    if (!value.shape.is_uniform()) vpaddd(to, to, offsets(value.shape, q));
}

/// Makes eax the mask if both sides are numbers; usually all lanes agree. Changes no register that
/// holds a row, because not all of this code runs.
bool Tracer::emit_number_comparison(const Step& step) {
    const Op& op = *step.op;
    const Compare compare = step.kind.compare;
    auto a = scalar(op.r[1]);
    auto b = scalar(op.r[2]);
    if (!a || !b || compare == Compare::real) return false;
    const bool equality = compare <= Compare::ne;
    const bool is_signed = compare >= Compare::lt_s;
    // Less, or less or equal; the others are their opposites.
    const bool or_equal = compare == Compare::le_u || compare == Compare::gt_u ||
                          compare == Compare::le_s || compare == Compare::gt_s;
    const bool inverted = compare == Compare::ge_u || compare == Compare::gt_u ||
                          compare == Compare::ge_s || compare == Compare::gt_s ||
                          compare == Compare::ne;
    if (a->shape == b->shape && (equality || a->shape.is_uniform())) {
        load_number(eax, *a);
        with_number(*b, [&](const auto& other) { cmp(eax, other); });
        if (equality) {
            sete(al);
        } else if (is_signed) {
            or_equal ? setle(al) : setl(al);
        } else {
            or_equal ? setbe(al) : setb(al);
        }
        movzx(eax, al);
        neg(eax);
        if (inverted) not_(eax);
        return true;
    }
    if (equality && a->shape.is_uniform()) std::swap(a, b);
    if (!b->shape.is_uniform() || a->shape.lowest() < 0) return false;
    Xbyak::Label all, none, mixed, done;
    load_number(eax, *a);
    load_number(edx, *b);
    mov(ecx, eax);
    add(ecx, a->shape.highest());
    const bool as_signed = is_signed || equality;
    as_signed ? jo(mixed) : jc(mixed);
    if (equality) {
        cmp(edx, eax);
        jl(none);
        cmp(edx, ecx);
        jg(none);
    } else {
        cmp(ecx, edx);
        if (or_equal) {
            is_signed ? jle(all) : jbe(all);
        } else {
            is_signed ? jl(all) : jb(all);
        }
        cmp(eax, edx);
        if (or_equal) {
            is_signed ? jg(none) : ja(none);
        } else {
            is_signed ? jge(none) : jae(none);
        }
    }
    L(mixed);
    for (u32 q = 0; q < 4; ++q) {
        emit_lanes(ymm0, *a, q);
        emit_lanes(ymm1, *b, q);
        if (equality) {
            vpcmpeqd(ymm0, ymm0, ymm1);
        } else if (is_signed) {
            // Less: b > a. Less or equal: not a > b.
            or_equal ? vpcmpgtd(ymm0, ymm0, ymm1) : vpcmpgtd(ymm0, ymm1, ymm0);
        } else if (or_equal) {
            vpminud(ymm1, ymm0, ymm1);
            vpcmpeqd(ymm0, ymm0, ymm1);
        } else {
            vpmaxud(ymm1, ymm0, ymm1);
            vpcmpeqd(ymm0, ymm0, ymm1);
        }
        vmovmskps(ecx, ymm0);
        if (q == 0) {
            mov(eax, ecx);
            continue;
        }
        shl(ecx, static_cast<int>(8 * q));
        or_(eax, ecx);
    }
    // The last is: greater or equal.
    if ((is_signed && or_equal) || (!is_signed && !equality && !or_equal)) not_(eax);
    jmp(done);
    L(all);
    mov(eax, ~u32{0});
    jmp(done);
    L(none);
    xor_(eax, eax);
    L(done);
    if (inverted) not_(eax);
    return true;
}

void Tracer::emit_comparison(const Step& step) {
    const Op& op = *step.op;
    const Compare compare = step.kind.compare;
    if (!emit_number_comparison(step)) {
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

void Tracer::jump_where(Compare holds, const Xbyak::Label& to) {
    switch (holds) {
        case Compare::eq:
            return je(to, T_NEAR);
        case Compare::ne:
            return jne(to, T_NEAR);
        case Compare::lt_u:
            return jb(to, T_NEAR);
        case Compare::le_u:
            return jbe(to, T_NEAR);
        case Compare::gt_u:
            return ja(to, T_NEAR);
        case Compare::ge_u:
            return jae(to, T_NEAR);
        case Compare::lt_s:
            return jl(to, T_NEAR);
        case Compare::le_s:
            return jle(to, T_NEAR);
        case Compare::gt_s:
            return jg(to, T_NEAR);
        case Compare::ge_s:
            return jge(to, T_NEAR);
        case Compare::real:
            break;
    }
}

/// Compares two numbers once for all lanes, if nothing else reads the predicate.
bool Tracer::emit_number_branch(const Step& step) {
    const Op& op = *step.op;
    const Compare compare = step.kind.compare;
    if (step.kind.action != Action::compare_and_branch || compare == Compare::real) return false;
    const auto a = scalar(op.r[1]);
    const auto b = scalar(op.r[2]);
    if (!a || !b || a->shape != b->shape) return false;
    if (!a->shape.is_uniform() && compare > Compare::ne) return false;
    const Pending predicate{op.r[0], {}};
    if (is_live(predicate, op.target) || is_live(predicate, &op + 1)) return false;
    load_number(eax, *a);
    with_number(*b, [&](const auto& other) { cmp(eax, other); });
    const bool fails = op.flags.as<BranchWhen>() == BranchWhen::fails;
    jump_where(fails ? opposite(compare) : compare, add_taken(step, false).label);
    return true;
}

void Tracer::emit_branch(const Step& step) {
    const Op& op = *step.op;
    if (step.kind.action == Action::branch) {
        // The path goes on at a target after it.
        if (op.target <= &op) jmp(add_taken(step, false).label, T_NEAR);
        return;
    }
    if (emit_number_branch(step)) return;
    if (step.kind.action == Action::compare_and_branch) {
        emit_comparison(step);
        if (op.flags.as<BranchWhen>() == BranchWhen::fails) not_(eax);
    } else {
        mov(eax, memory_of(op.r[0]));
        if (step.kind.action == Action::branch_unless) not_(eax);
    }
    Taken& taken = add_taken(step, true);
    test(eax, eax);
    jnz(taken.label, T_NEAR);
}

Tracer::Taken& Tracer::add_taken(const Step& step, bool conditional) {
    Taken& taken = taken_.emplace_back();
    taken.step = &step;
    taken.conditional = conditional;
    taken.pending = pending_at(step.op->target);
    taken.state = state();
    taken.partly = &exit_at(step);
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
    restore(taken.state);
    if (step.side != 0) {
        emit_trace(traces_[step.side]);
        return;
    }
    const auto head = heads_.find(target);
    const bool goes_on = head != heads_.end() && has_numbers_of(head->second.state);
    const bool is_region = target == region_.first;
    if (!goes_on && !is_region) {
        Exit exit;
        exit.target = target;
        exit.instructions = instructions_with(step);
        exit.flushing = is_flushing();
        exit.pending = taken.pending;
        emit_exit(exit);
        return;
    }
    // The exits in a loop count the steps from the region's start on.
    const u32 instructions = instructions_with(step);
    add(qword[rbx + static_cast<u32>(offsetof(WarpContext, compiled_instructions))],
        is_region ? instructions + region_.first->instructions
                  : instructions - head->second.before);
    if (goes_on) {
        go_to(head->second.state, taken.pending);
        jmp(head->second.label, T_NEAR);
        return;
    }
    for (const Pending& one : taken.pending)
        store_row(one);
    set_flushing(false);
    jmp(guards_, T_NEAR);
}

}  // namespace lode::emulator::exec

#endif
