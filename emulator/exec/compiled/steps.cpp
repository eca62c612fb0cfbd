// Code for the ops of a region.
#if defined(__x86_64__)

#include "emulator/decode/ops/load_store.hpp"
#include "emulator/exec/compiled/tracer.hpp"
#include "emulator/exec/ops/memory.hpp"

#include <cstddef>

namespace lode::emulator::exec {

namespace {

/// Calls a handler. No exception passes through compiled code, which has no tables for unwinding.
const Op* call_handler(WarpContext& c, const Op* op, Handler handler) noexcept {
    try {
        return handler(c, op);
    } catch (...) {
        c.thrown = std::current_exception();
        c.has_thrown = true;
        return leave();
    }
}

bool is_constant(const Scalar& value) {
    return value.place == Scalar::Place::constant && value.stride == 0;
}

}  // namespace

void Tracer::emit_step(const Step& step) {
    switch (step.kind.action) {
        case Action::call:
            emit_call(step);
            break;
        case Action::load:
        case Action::store:
            emit_access(step);
            break;
        case Action::compare:
            emit_comparison(step);
            break;
        case Action::compare_and_branch:
        case Action::branch:
        case Action::branch_if:
        case Action::branch_unless:
            emit_branch(step);
            break;
        case Action::select:
            emit_select(step);
            break;
        default:
            if (!emit_scalar(step)) emit_rows(step);
            break;
    }
    release();
}

/// Computes with numbers instead of rows, if all sources are numbers and the result is one.
bool Tracer::emit_scalar(const Step& step) {
    const Op& op = *step.op;
    const Action action = step.kind.action;
    const auto a = scalar(op.r[1]);
    if (!a) return false;
    if (action == Action::move) {
        load_number(eax, *a);
        define_scalar(op.r[0], a->stride);
        return true;
    }
    const auto b = scalar(op.r[2]);
    if (!b) return false;
    const bool uniform = a->stride == 0 && b->stride == 0;
    const auto load_both = [&] {
        load_number(eax, *a);
        load_number(ecx, *b);
    };
    u32 stride = 0;
    switch (action) {
        case Action::add:
            load_both();
            add(eax, ecx);
            stride = a->stride + b->stride;
            break;
        case Action::subtract:
            load_both();
            sub(eax, ecx);
            stride = a->stride - b->stride;
            break;
        case Action::multiply:
        case Action::multiply_add: {
            if (!uniform && !is_constant(*a) && !is_constant(*b)) return false;
            if (is_constant(*a)) stride = b->stride * a->at;
            if (is_constant(*b)) stride = a->stride * b->at;
            std::optional<Scalar> e;
            if (action == Action::multiply_add) {
                e = scalar(op.r[3]);
                if (!e) return false;
                stride += e->stride;
            }
            load_both();
            imul(eax, ecx);
            if (e) {
                load_number(ecx, *e);
                add(eax, ecx);
            }
            break;
        }
        case Action::shift_left:
            if (!is_constant(*b) || b->at > 31) return false;
            load_number(eax, *a);
            shl(eax, static_cast<int>(b->at));
            stride = a->stride << b->at;
            break;
        case Action::shift_right_unsigned:
        case Action::shift_right_signed:
            if (!uniform || !is_constant(*b) || b->at > 31) return false;
            load_number(eax, *a);
            if (action == Action::shift_right_signed) {
                sar(eax, static_cast<int>(b->at));
            } else {
                shr(eax, static_cast<int>(b->at));
            }
            break;
        case Action::bit_and:
        case Action::bit_or:
        case Action::bit_xor:
            if (!uniform) return false;
            load_both();
            if (action == Action::bit_and) {
                and_(eax, ecx);
            } else if (action == Action::bit_or) {
                or_(eax, ecx);
            } else {
                xor_(eax, ecx);
            }
            break;
        default:
            return false;
    }
    define_scalar(op.r[0], stride);
    return true;
}

void Tracer::emit_rows(const Step& step) {
    const Op& op = *step.op;
    const Action action = step.kind.action;
    for (u32 q = 0; q < 4; ++q) {
        const Xbyak::Ymm a = quarter(op.r[1], q);
        if (action == Action::move) {
            const Xbyak::Ymm to = fresh();
            vmovdqa(to, a);
            define_quarter(op.r[0], q, to);
            release();
            continue;
        }
        const Xbyak::Ymm b = quarter(op.r[2], q);
        const bool three = action == Action::multiply_add || action == Action::real_fma;
        const Xbyak::Ymm e = three ? quarter(op.r[3], q) : b;
        const Xbyak::Ymm to = fresh();
        bool real = false;
        switch (action) {
            case Action::add:
                vpaddd(to, a, b);
                break;
            case Action::subtract:
                vpsubd(to, a, b);
                break;
            case Action::multiply:
                vpmulld(to, a, b);
                break;
            case Action::multiply_add:
                vpmulld(to, a, b);
                vpaddd(to, to, e);
                break;
            case Action::bit_and:
                vpand(to, a, b);
                break;
            case Action::bit_or:
                vpor(to, a, b);
                break;
            case Action::bit_xor:
                vpxor(to, a, b);
                break;
            // Shifts by 32 and more are what PTX wants: zeros, or copies of the sign.
            case Action::shift_left:
                vpsllvd(to, a, b);
                break;
            case Action::shift_right_unsigned:
                vpsrlvd(to, a, b);
                break;
            case Action::shift_right_signed:
                vpsravd(to, a, b);
                break;
            case Action::min_signed:
                vpminsd(to, a, b);
                break;
            case Action::max_signed:
                vpmaxsd(to, a, b);
                break;
            case Action::min_unsigned:
                vpminud(to, a, b);
                break;
            case Action::max_unsigned:
                vpmaxud(to, a, b);
                break;
            default:
                real = true;
                break;
        }
        if (real) {
            switch (action) {
                case Action::real_add:
                    vaddps(to, a, b);
                    break;
                case Action::real_subtract:
                    vsubps(to, a, b);
                    break;
                case Action::real_multiply:
                    vmulps(to, a, b);
                    break;
                case Action::real_divide:
                    vdivps(to, a, b);
                    break;
                default:
                    vmovaps(to, a);
                    vfmadd213ps(to, b, e);
                    break;
            }
            // The device has one NaN.
            vcmpps(ymm0, to, to, 3);
            vblendvps(to, to, ymm15, ymm0);
        }
        define_quarter(op.r[0], q, to);
        release();
    }
    finish_row(op.r[0]);
}

void Tracer::emit_select(const Step& step) {
    const Op& op = *step.op;
    vpbroadcastd(ymm1, memory_of(op.r[3]));
    for (u32 q = 0; q < 4; ++q) {
        const Xbyak::Ymm yes = quarter(op.r[1], q);
        const Xbyak::Ymm no = quarter(op.r[2], q);
        const Xbyak::Ymm to = fresh();
        vmovdqa(ymm2, lane_bits(q));
        vpand(ymm0, ymm1, ymm2);
        vpcmpeqd(ymm0, ymm0, ymm2);
        vblendvps(to, no, yes, ymm0);
        define_quarter(op.r[0], q, to);
        release();
    }
    finish_row(op.r[0]);
}

void Tracer::emit_call(const Step& step) {
    const Op& op = *step.op;
    for (const Slot one : op.r)
        settle(one);
    // A wide value covers several rows.
    const bool load_or_store = step.kind.action != Action::call;
    const u32 writes =
        load_or_store ? (step.kind.action == Action::load ? 1 : 0) : step.kind.writes;
    const u32 bytes = load_or_store ? 4 : step.kind.bytes;
    for (u32 k = 0; k < writes; ++k)
        settle_and_forget(op.r[k], bytes * lanes);
    mov(rdi, rbx);
    mov(rsi, reinterpret_cast<u64>(&op));
    mov(rdx, reinterpret_cast<u64>(step.handler));
    mov(rax, reinterpret_cast<u64>(&call_handler));
    call(rax);
    forget_registers();
    vmovdqa(ymm15, nan());
    Exit& exit = add_exit(nullptr, instructions_with(step));
    mov(rcx, reinterpret_cast<u64>(&op + 1));
    cmp(rax, rcx);
    jne(exit.label, T_NEAR);
}

/// Makes rax the host address of lane 0; `bytes` from there on are inside the bounds and aligned.
void Tracer::emit_address(const Step& step, const Scalar& index, u32 bytes) {
    const Op& op = *step.op;
    Xbyak::Label& exit = exit_at(step);
    const bool is_signed = (op.flags & access_signed_index) != 0;
    load_number(eax, index);
    if (index.stride != 0) {
        // Indices may wrap, but not addresses.
        mov(ecx, eax);
        add(ecx, 31 * index.stride);
        if (is_signed) {
            jo(exit, T_NEAR);
        } else {
            jc(exit, T_NEAR);
        }
    }
    if (is_signed) movsxd(rax, eax);
    const u32 scale = op.r[index_scale_operand];
    if (scale != 1) imul(rax, rax, static_cast<int>(scale));
    add(rax, memory_of(op.r[index_base_operand]));
    if (op.imm != 0) {
        mov(rcx, op.imm);
        add(rax, rcx);
    }
    if (!step.kind.shared) {
        mov(rcx, ptr[rbx + static_cast<u32>(offsetof(WarpContext, bounds))]);
        const u32 at = op.cache * static_cast<u32>(sizeof(Bounds));
        cmp(rax, ptr[rcx + (at + static_cast<u32>(offsetof(Bounds, lo)))]);
        jb(exit, T_NEAR);
        mov(rdx, ptr[rcx + (at + static_cast<u32>(offsetof(Bounds, hi)))]);
        sub(rdx, bytes);
        jc(exit, T_NEAR);
        cmp(rax, rdx);
        ja(exit, T_NEAR);
        test(al, 3);
        jnz(exit, T_NEAR);
        return;
    }
    mov(eax, eax);
    if (op.r[variable_operand] == no_slot) {
        mov(edx, dword[rbx + static_cast<u32>(offsetof(WarpContext, shared_bytes))]);
        sub(edx, bytes);
        jc(exit, T_NEAR);
        cmp(eax, edx);
        ja(exit, T_NEAR);
    } else {
        const Bounds bounds = shared_bounds(context_, &op);
        if (bounds.hi - bounds.lo < bytes) jmp(exit, T_NEAR);
        cmp(eax, static_cast<u32>(bounds.lo));
        jb(exit, T_NEAR);
        cmp(eax, static_cast<u32>(bounds.hi) - bytes);
        ja(exit, T_NEAR);
    }
    test(al, 3);
    jnz(exit, T_NEAR);
    add(rax, ptr[rbx + static_cast<u32>(offsetof(WarpContext, shared))]);
}

void Tracer::emit_access(const Step& step) {
    const Op& op = *step.op;
    const auto index = scalar(op.r[1]);
    const bool loads = step.kind.action == Action::load;
    const u32 apart = index ? index->stride * op.r[index_scale_operand] : 0;
    const bool run = index && index->stride <= 4 && apart == 4;
    if (!run && !(loads && index && index->stride == 0)) return emit_call(step);
    emit_address(step, *index, run ? 4 * lanes : 4);
    if (!run) {
        mov(eax, dword[rax]);
        define_scalar(op.r[0], 0);
        return;
    }
    for (u32 q = 0; q < 4; ++q) {
        if (loads) {
            const Xbyak::Ymm to = fresh();
            vmovdqu(to, ptr[rax + 32 * q]);
            define_quarter(op.r[0], q, to);
        } else {
            vmovdqu(ptr[rax + 32 * q], quarter(op.r[0], q));
        }
        release();
    }
    if (loads) finish_row(op.r[0]);
}

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

}  // namespace lode::emulator::exec

#endif
