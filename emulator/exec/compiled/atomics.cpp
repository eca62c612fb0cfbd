// Code for the ops of a region: atomics.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"
#include "emulator/exec/ops/control/note_run.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/atomic.hpp"

#include <cstddef>

namespace lode::emulator::exec {

/// Tells the checks of the sums whose offsets are in the scratch memory.
void Tracer::emit_note_sums(const Step& step, Xbyak::Label& exit) {
    mov(rdi, rbx);
    mov(rsi, reinterpret_cast<u64>(step.op));
    lea(rdx, ptr[rsp + scratch_begin]);
    call_host(reinterpret_cast<const void*>(&note_sums));
    cmp(al, static_cast<u32>(NotedSums::need_handler));
    je(exit, T_NEAR);
    cmp(al, static_cast<u32>(NotedSums::thrown));
    mov(rax, ~u64{0});
    je(add_exit(nullptr, instructions_with(step)).label, T_NEAR);
}

/// Sums in the block's shared memory, lane after lane; others are called.
void Tracer::emit_atomic(const Step& step) {
    const Op& op = *step.op;
    const bool is_sum = op.flags.as<AtomicFlags>().operation == AtomicOp::add &&
                        op.addressing.window == Window::shared;
    const bool narrow = op.addressing.narrow;
    if (!is_sum) return emit_call(step);
    settle_quarters();  // The exit is added before registers are taken.
    if (!narrow) settle(op.r[1]);
    Xbyak::Label& exit = exit_at(step);
    // ymm2: the lowest offset, ymm3: the distance from it to the highest.
    if (op.r[variable_operand] == no_slot) {
        mov(eax, dword[rbx + static_cast<u32>(offsetof(WarpContext, shared_bytes))]);
        sub(eax, 4);
        jc(exit, T_NEAR);
        vpxor(xmm2, xmm2, xmm2);
    } else {
        const Bounds bounds = shared_bounds(warp, &op);
        if (bounds.hi - bounds.lo < 4) return emit_call(step);
        mov(eax, static_cast<u32>(bounds.lo));
        vmovd(xmm2, eax);
        vpbroadcastd(ymm2, xmm2);
        mov(eax, static_cast<u32>(bounds.hi - bounds.lo - 4));
    }
    vmovd(xmm3, eax);
    vpbroadcastd(ymm3, xmm3);
    const Xbyak::Ymm bad = fresh();
    const Xbyak::Ymm offset = fresh();
    const auto imm = static_cast<u32>(op.imm);
    if (imm != 0) {
        mov(eax, imm);
        vmovd(Xbyak::Xmm(offset.getIdx()), eax);
        vpbroadcastd(offset, Xbyak::Xmm(offset.getIdx()));
    }
    const Xbyak::Ymm three = fresh();
    mov(eax, 3);
    vmovd(Xbyak::Xmm(three.getIdx()), eax);
    vpbroadcastd(three, Xbyak::Xmm(three.getIdx()));
    for (u32 q = 0; q < 4; ++q) {
        Xbyak::Ymm at = ymm0;
        if (narrow) {
            at = quarter(op.r[1], q);
        } else {
            // As narrow_addresses() does: the upper halves don't count. Every area has whole rows.
            load_low_halves(ymm0, op.r[1], q);
        }
        if (imm != 0) {
            vpaddd(ymm0, at, offset);
            at = ymm0;
        }
        vmovdqu(ptr[rsp + (scratch_begin + 32 * q)], at);
        vpand(ymm1, at, three);
        if (q == 0) {
            vmovdqa(bad, ymm1);
        } else {
            vpor(bad, bad, ymm1);
        }
        vpsubd(ymm0, at, ymm2);
        vpminud(ymm1, ymm0, ymm3);
        vpxor(ymm1, ymm1, ymm0);
        vpor(bad, bad, ymm1);
    }
    vptest(bad, bad);
    jnz(exit, T_NEAR);
    if (warp.watch) emit_note_sums(step, exit);
    const auto value = scalar(op.r[2]);
    const bool uniform = value && value->shape.is_uniform();
    if (uniform) {
        load_number(edx, *value);
    } else {
        settle(op.r[2]);
    }
    mov(rsi, ptr[rbx + static_cast<u32>(offsetof(WarpContext, shared))]);
    for (u32 i = 0; i < lanes; ++i) {
        mov(ecx, dword[rsp + (scratch_begin + 4 * i)]);
        if (!uniform) mov(edx, memory_of(op.r[2], 4 * i));
        if (op.r[0] == no_slot) {
            add(dword[rsi + rcx], edx);
            continue;
        }
        mov(eax, dword[rsi + rcx]);
        mov(memory_of(op.r[0], 4 * i), eax);
        add(eax, edx);
        mov(dword[rsi + rcx], eax);
    }
    if (op.r[0] != no_slot) {
        forget(op.r[0]);
        release();
    }
}

}  // namespace lode::emulator::exec

#endif
