// Code for the ops of a region: memory, and calls of handlers.
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

}  // namespace

void Tracer::emit_call(const Step& step) {
    const Op& op = *step.op;
    for (const Slot one : op.r)
        settle(one);
    // A wide value covers several rows.
    const bool load_or_store =
        step.kind.action == Action::load || step.kind.action == Action::store;
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
        const Bounds bounds = shared_bounds(warp, &op);
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
            vmovdqu(to, ptr[rax + std::size_t{32} * q]);
            define_quarter(op.r[0], q, to);
        } else {
            vmovdqu(ptr[rax + std::size_t{32} * q], quarter(op.r[0], q));
        }
        release();
    }
    if (loads) finish_row(op.r[0]);
}

}  // namespace lode::emulator::exec

#endif
