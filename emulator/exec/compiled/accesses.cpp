// Code for the ops of a region: memory, and calls of handlers.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"
#include "emulator/exec/ops/control/note_run.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/load_store.hpp"

#include <algorithm>
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
    const u32 bytes = std::max<u32>(4, step.kind.bytes);
    for (u32 k = 0; k < step.kind.writes; ++k)
        settle_and_forget(op.r[k], bytes * lanes);
    mov(rdi, rbx);
    mov(rsi, reinterpret_cast<u64>(&op));
    mov(rdx, reinterpret_cast<u64>(handler_of(op.operation)));
    call_host(reinterpret_cast<const void*>(&call_handler));
    Exit& exit = add_exit(nullptr, instructions_with(step));
    mov(rcx, reinterpret_cast<u64>(&op + 1));
    cmp(rax, rcx);
    jne(exit.label, T_NEAR);
}

/// Makes rax the lowest host address of all lanes, after a test that all of them are aligned and
/// inside the bounds. `shape`: that of the addresses, of which each term is aligned.
void Tracer::emit_address(const Step& step, const Scalar& index, const Shape& shape) {
    const Op& op = *step.op;
    const u32 bytes = static_cast<u32>(shape.highest() - shape.lowest()) + step.kind.bytes;
    const u64 offset = op.imm + static_cast<u64>(i64{shape.lowest()});
    Xbyak::Label& exit = exit_at(step);
    if (step.kind.form == AddressForm::index) {
        emit_widened(index, op.flags.as<AccessFlags>().signed_index, exit);
        const u32 scale = op.r[index_scale_operand];
        if (scale != 1) imul(rax, rax, static_cast<int>(scale));
        const Slot base = op.r[index_base_operand];
        if (const auto number = scalar(base, true)) {
            load_number(ecx, *number);
            add(rax, rcx);
        } else {
            add(rax, memory_of(base));
        }
    } else {
        Scalar low = index;
        low.wide = index.wide && !step.kind.shared;
        load_number(eax, low);
    }
    const u32 alignment = step.kind.bytes - 1;
    if (!step.kind.shared) {
        if (offset != 0) {
            with_number({Scalar::Place::constant, offset, {}, true},
                        [&](const auto& number) { add(rax, number); });
        }
        mov(rcx, ptr[rbx + static_cast<u32>(offsetof(WarpContext, bounds))]);
        const u32 at = op.cache * static_cast<u32>(sizeof(Bounds));
        cmp(rax, ptr[rcx + (at + static_cast<u32>(offsetof(Bounds, lo)))]);
        jb(exit, T_NEAR);
        mov(rdx, ptr[rcx + (at + static_cast<u32>(offsetof(Bounds, hi)))]);
        sub(rdx, bytes);
        jc(exit, T_NEAR);
        cmp(rax, rdx);
        ja(exit, T_NEAR);
        if (alignment != 0) {
            test(al, alignment);
            jnz(exit, T_NEAR);
        }
        return;
    }
    // The upper halves of shared addresses don't count.
    if (static_cast<u32>(offset) != 0) {
        add(eax, static_cast<u32>(offset));
    } else if (step.kind.form == AddressForm::index) {
        mov(eax, eax);
    }
    if (op.r[variable_operand] == no_slot) {
        lea(rdx, ptr[rax + bytes]);
        mov(ecx, dword[rbx + static_cast<u32>(offsetof(WarpContext, shared_bytes))]);
        cmp(rdx, rcx);
        ja(exit, T_NEAR);
    } else {
        const Bounds bounds = shared_bounds(warp, &op);
        if (bounds.hi - bounds.lo < bytes) jmp(exit, T_NEAR);
        const auto lowest = static_cast<u32>(bounds.lo);
        const Xbyak::Reg32& distance = lowest == 0 ? eax : edx;
        if (lowest != 0) lea(edx, ptr[rax - lowest]);
        cmp(distance, static_cast<u32>(bounds.hi) - bytes - lowest);
        ja(exit, T_NEAR);
    }
    if (alignment != 0) {
        test(al, alignment);
        jnz(exit, T_NEAR);
    }
    add(rax, ptr[rbx + static_cast<u32>(offsetof(WarpContext, shared))]);
}

/// Loads consecutive elements from rax on, or the one there for all lanes.
void Tracer::emit_load(const Step& step, bool run) {
    const Op& op = *step.op;
    const Slot to = op.r[0];
    const u32 bytes = step.kind.bytes;
    if (run && bytes == 4) {
        for (u32 q = 0; q < 4; ++q) {
            const Xbyak::Ymm made = fresh();
            vmovdqu(made, ptr[rax + std::size_t{32} * q]);
            define_quarter(to, q, made);
            release();
        }
        finish_row(to);
        return;
    }
    if (!run && bytes >= 4) {
        if (bytes == 4) {
            mov(eax, dword[rax]);
        } else {
            mov(rax, qword[rax]);
        }
        define_scalar(to, {}, bytes == 8);
        return;
    }
    if (!run) bytes == 1 ? vpbroadcastb(ymm0, byte[rax]) : vpbroadcastw(ymm0, word[rax]);
    for (u32 piece = 0; piece < bytes; ++piece) {
        if (run) vmovdqu(ymm0, ptr[rax + std::size_t{32} * piece]);
        vmovdqa(memory_of(to, 32 * piece), ymm0);
    }
    forget(to);
}

void Tracer::emit_shaped_load(const Step& step, const Shape& shape) {
    const Slot to = step.op->r[0];
    const auto [one, two, four, eight, sixteen] = shape.terms;
    const bool is_run = one == 4 && two == 8;
    const bool is_uniform = one == 0 && two == 0;
    std::optional<Xbyak::Ymm> made[4];
    for (u32 q = 0; q < 4; ++q) {
        const int at = shape.at(8 * q) - shape.lowest();
        const bool is_first_again = (q & 1) != 0 && eight == 0;
        if (is_first_again || ((q & 2) != 0 && sixteen == 0)) {
            made[q] = made[is_first_again ? q - 1 : q - 2];
            share_quarter(*made[q], q);
            continue;
        }
        const Xbyak::Ymm into = fresh();
        const Xbyak::Xmm half(into.getIdx());
        if (is_uniform && four == 0) {
            vpbroadcastd(into, dword[rax + at]);
        } else if (is_uniform) {
            vpbroadcastd(half, dword[rax + at]);
            vpbroadcastd(xmm0, dword[rax + at + four]);
            vinserti128(into, into, xmm0, 1);
        } else if (is_run && four == 16) {
            vmovdqu(into, yword[rax + at]);
        } else if (is_run) {
            vmovdqu(half, xword[rax + at]);
            vinserti128(into, into, xword[rax + at + four], 1);
        } else {
            vmovdqa(ymm0, offsets(shape, q));
            vpcmpeqd(ymm1, ymm1, ymm1);
            vpgatherdd(into, ptr[rax + ymm0 - shape.lowest()], ymm1);
        }
        define_quarter(to, q, into);
        made[q] = into;
    }
    finish_row(to);
}

/// The last of the lanes that have the same address is the one that counts.
void Tracer::emit_shaped_store(const Step& step, const Shape& shape) {
    const auto [one, two, four, eight, sixteen] = shape.terms;
    const bool is_run = one == 4 && two == 8;
    for (u32 q = 0; q < 4; ++q) {
        const int at = shape.at(8 * q) - shape.lowest();
        const Xbyak::Ymm from = quarter(step.op->r[0], q);
        if (is_run && four == 16) {
            vmovdqu(yword[rax + at], from);
        } else {
            for (u32 half = 0; half < 2; ++half) {
                const Xbyak::Xmm lower = half == 0 ? Xbyak::Xmm(from.getIdx()) : xmm0;
                if (half != 0) vextracti128(xmm0, from, 1);
                if (is_run) {
                    const int offset = at + static_cast<int>(half) * four;
                    vmovdqu(xword[rax + offset], lower);
                    continue;
                }
                for (u32 i = 0; i < 4; ++i) {
                    const int place = shape.at(8 * q + 4 * half + i) - shape.lowest();
                    vpextrd(dword[rax + place], lower, static_cast<u8>(i));
                }
            }
        }
        release();
    }
}

/// Stores a row from rax on.
void Tracer::emit_store(const Step& step) {
    const Slot from = step.op->r[0];
    for (u32 piece = 0; piece < step.kind.bytes; ++piece) {
        if (step.kind.bytes == 4) {
            vmovdqu(ptr[rax + std::size_t{32} * piece], quarter(from, piece));
            release();
        } else {
            vmovdqa(ymm0, memory_of(from, 32 * piece));
            vmovdqu(ptr[rax + std::size_t{32} * piece], ymm0);
        }
    }
}

/// Tells the checks of the access from rax on, which stays as it is.
void Tracer::emit_note(const Step& step, bool run) {
    mov(qword[rsp + scratch_begin], rax);
    mov(rdx, rax);
    if (step.kind.shared) sub(rdx, ptr[rbx + static_cast<u32>(offsetof(WarpContext, shared))]);
    mov(rdi, rbx);
    mov(rsi, reinterpret_cast<u64>(step.op));
    const NoteRun note =
        note_run_of(step.kind.bytes, step.kind.action == Action::store, step.kind.shared, !run);
    call_host(reinterpret_cast<const void*>(note));
    test(al, al);
    mov(rax, ~u64{0});
    jz(add_exit(nullptr, instructions_with(step)).label, T_NEAR);
    mov(rax, qword[rsp + scratch_begin]);
}

/// Fetches what a loop will access from rax on in its second next round, if it goes on as before.
/// Kernels whose threads step by the size of the grid leave a page in each round, where processors
/// fetch nothing ahead by themselves.
void Tracer::emit_prefetch(u32 bytes) {
    constexpr int rounds = 2;
    constexpr u32 line = 64;
    // Unset before the first round; a prefetch from anywhere does no harm.
    const u32 previous = take_stack(true);
    mov(rcx, rax);
    sub(rcx, qword[rsp + previous]);
    mov(qword[rsp + previous], rax);
    for (u32 at = 0; at < bytes; at += line)
        prefetcht0(ptr[rax + rcx * rounds + at]);
}

void Tracer::emit_access(const Step& step) {
    const Op& op = *step.op;
    const bool loads = step.kind.action == Action::load;
    const auto index = scalar(op.r[1], step.kind.form == AddressForm::wide);
    if (!index) return emit_call(step);
    const u32 bytes = step.kind.bytes;
    const auto shape =
        index->shape.times(step.kind.form == AddressForm::index ? op.r[index_scale_operand] : 1);
    if (!shape) return emit_call(step);
    const bool run = *shape == Shape::linear(static_cast<i32>(bytes));
    const bool is_shaped = !run && !(loads && shape->is_uniform());
    if (is_shaped) {
        const bool is_aligned =
            std::ranges::all_of(shape->terms, [](i32 term) { return term % 4 == 0; });
        if (bytes != 4 || !is_aligned || warp.watch || op.order.is_strong()) return emit_call(step);
    }
    if (warp.watch && op.order.is_strong()) return emit_call(step);
    // The race check compares the values in rows.
    if (!loads && (bytes == 8 || warp.watch)) settle(op.r[0]);
    emit_address(step, *index, *shape);
    const u32 span = static_cast<u32>(shape->highest() - shape->lowest()) + bytes;
    const bool is_near = !shape->is_uniform() && span <= bytes * lanes;
    if (is_near && loops_ && !step.kind.shared && !is_full()) emit_prefetch(span);
    if (is_shaped) return loads ? emit_shaped_load(step, *shape) : emit_shaped_store(step, *shape);
    if (warp.watch) emit_note(step, run);
    if (loads) {
        emit_load(step, run);
    } else {
        emit_store(step);
    }
}

}  // namespace lode::emulator::exec

#endif
