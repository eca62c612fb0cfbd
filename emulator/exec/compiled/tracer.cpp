#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"

#include "emulator/isa/load_store.hpp"
#include "emulator/isa/warp.hpp"

#include <algorithm>
#include <cstddef>

namespace lode::emulator::exec {

namespace {

constexpr std::size_t longest_path = 384;  ///< An unrolled loop's body is to fit.
constexpr std::size_t most_steps = 224;    ///< Steps of all traces, if the first isn't longer.
constexpr u32 most_assumed = 16;

/// The number of sources, in r[1] …, of an action that can be done with numbers.
u32 number_sources(const Kind& kind) {
    switch (kind.action) {
        case Action::add:
        case Action::subtract:
        case Action::multiply:
        case Action::bit_and:
        case Action::bit_or:
        case Action::bit_xor:
        case Action::shift_left:
        case Action::shift_right_unsigned:
        case Action::shift_right_signed:
        case Action::min_signed:
        case Action::max_signed:
        case Action::min_unsigned:
        case Action::max_unsigned:
        case Action::wide_add:
        case Action::wide_subtract:
            return 2;
        case Action::multiply_add:
        case Action::product_sum:
            return 3;
        case Action::move:
        case Action::wide_move:
            return 1;
        case Action::convert:
            return kind.to + kind.from == 12 ? 1 : 0;
        case Action::product:
            return kind.to == 8 ? 2 : 0;
        default:
            return 0;
    }
}

/// Whether a region goes on with an op.
bool may_be_inside(Action action) {
    return action != Action::stop && action != Action::other_branch && action != Action::leave &&
           action != Action::wait;
}

bool can_vary(Slot slot) {
    const auto area = static_cast<Area>(slot >> area_shift);
    return area == Area::frame || area == Area::warp;
}

/// The shape that a row of numbers has, if it has one.
template <class T>
std::optional<Shape> shape_of(const u8* values) {
    const auto* const row = reinterpret_cast<const T*>(values);
    constexpr i64 most = i64{1} << 20;  ///< What is computed from it may have larger terms.
    Shape shape;
    for (u32 k = 0; k < Shape::bits; ++k) {
        const i64 term = static_cast<std::make_signed_t<T>>(row[1u << k] - row[0]);
        if (term < -most || term > most) return std::nullopt;
        shape.terms[k] = static_cast<i32>(term);
    }
    for (u32 i = 0; i < lanes; ++i)
        if (row[i] - row[0] != static_cast<T>(shape.at(i))) return std::nullopt;
    return shape;
}

}  // namespace

Tracer::Tracer(const Code& code, const Regions& regions, const Region& region,
               const WarpContext& context)
    : Values(code, context), regions_(regions), region_(region) {}

void Tracer::follow(Trace& trace, const Op* op, u32 before) {
    const std::size_t most = traces_.size() == 1 ? longest_path : most_steps;
    while (step_count_ < most) {
        const Step step{op, kind_of(*op), before, 0};
        const Action action = step.kind.action;
        trace.end = op;
        if (!may_be_inside(action)) return;
        trace.steps.push_back(step);
        ++step_count_;
        if (trace.steps.size() > 1 || op != region_.first) before += op->instructions;
        trace.end = nullptr;
        if (action != Action::branch) {
            ++op;
        } else if (op->target > op) {
            op = op->target;
        } else {
            return;
        }
    }
    trace.end = op;
}

void Tracer::find_traces() {
    follow(traces_.emplace_back(), region_.first, 0);
    for (std::size_t at = 0; at < traces_.size(); ++at) {
        for (Step& step : traces_[at].steps) {
            flushes_ = flushes_ || step.kind.flushes;
            const Op* const target = step.op->target;
            if (!is_branch(step.kind.action)) continue;
            if (target <= step.op) loops_to_.insert(target);
            if (target == region_.first) loops_ = true;
            const bool goes_on = step.kind.action != Action::branch && target > step.op &&
                                 step_count_ < most_steps &&
                                 may_be_inside(kind_of(target->operation).action);
            if (!goes_on) continue;
            step.side = static_cast<u32>(traces_.size());
            follow(traces_.emplace_back(), target, instructions_with(step));
        }
    }
}

u32 Tracer::instructions_with(const Step& step) const {
    return step.before + (is_first(step) ? 0 : step.op->instructions);
}

Tracer::Wanted Tracer::find_wanted(std::span<const Step> steps) const {
    Wanted wanted;
    const auto want = [&](Slot slot, bool wide = false) {
        if (can_vary(slot)) wanted[slot] = wide;
    };
    for (std::size_t k = steps.size(); k-- > 0;) {
        const auto& step = steps[k];
        const Op& op = *step.op;
        const Action action = step.kind.action;
        if (step.side != 0) wanted.merge(find_wanted(traces_[step.side].steps));
        if (action == Action::shuffle) {
            want(op.r[4]);
            want(op.r[members_operand]);
        }
        if (action == Action::load || action == Action::store) {
            if (action == Action::load) wanted.erase(op.r[0]);
            want(op.r[1], step.kind.form == AddressForm::wide);
            continue;
        }
        if (action == Action::compare_and_branch && loops_ && step.kind.compare != Compare::real) {
            for (const u32 operand : {1, 2})
                want(op.r[operand]);
            continue;
        }
        const bool makes = wanted.erase(op.r[0]) != 0;
        if (!makes) continue;
        const u32 sources = number_sources(step.kind);
        const bool wide = action == Action::wide_add || action == Action::wide_subtract ||
                          action == Action::wide_move ||
                          (action == Action::convert && step.kind.from == 8);
        for (u32 operand = 1; operand <= sources; ++operand)
            want(op.r[operand], wide || (action == Action::product_sum && operand == 3));
    }
    return wanted;
}

void Tracer::emit_guard(Slot slot, const Shape& shape, bool wide) {
    const u32 at = take_stack(wide);
    assume_number(slot, {Scalar::Place::stack, at, shape, wide},
                  loops_ && slot >> area_shift == static_cast<u32>(Area::frame));
    if (wide) {
        mov(rax, memory_of(slot));
        mov(qword[rsp + at], rax);
        vpbroadcastq(ymm0, qword[rsp + at]);
    } else {
        mov(eax, memory_of(slot));
        mov(dword[rsp + at], eax);
    }
    if (slot == lode::emulator::slot(Area::warp, tid_x) && shape == Shape::linear(1)) {
        // It grows from lane to lane and wraps at %ntid.x.
        mov(ecx, memory_of(slot, 31 * 4));
        sub(ecx, eax);
        cmp(ecx, 31);
        jne(refuse_, T_NEAR);
        return;
    }
    if (!wide) vpbroadcastd(ymm0, dword[rsp + at]);
    for (u32 q = 0; q < (wide ? 8 : 4); ++q) {
        const Xbyak::Ymm& off = q == 0 ? ymm2 : ymm1;
        if (shape.is_uniform()) {
            vpxor(off, ymm0, memory_of(slot, 32 * q));
        } else {
            if (wide) {
                vpaddq(ymm3, ymm0, wide_offsets(shape, q));
            } else {
                vpaddd(ymm3, ymm0, offsets(shape, q));
            }
            vpxor(off, ymm3, memory_of(slot, 32 * q));
        }
        if (q != 0) vpor(ymm2, ymm2, ymm1);
    }
    vptest(ymm2, ymm2);
    jnz(refuse_, T_NEAR);
}

void Tracer::emit_start() {
    Xbyak::Label enter;
    Xbyak::Label interpret;
    Xbyak::Label other_kind;
    cmp(dword[rdi + static_cast<u32>(offsetof(WarpContext, mask))], -1);
    jne(interpret);
    cmp(byte[rdi + static_cast<u32>(offsetof(WarpContext, watch))], warp.watch ? 1 : 0);
    jne(other_kind);
    cmp(dword[rdi + static_cast<u32>(offsetof(WarpContext, compile_after))], 0);
    jne(enter);
    L(interpret);
    mov(rax, reinterpret_cast<u64>(region_.original));
    jmp(rax);
    L(other_kind);
    mov(rax, reinterpret_cast<u64>(&region_.kinds[warp.watch ? 0 : 1].handler));
    jmp(ptr[rax]);
    align(16);
    L(enter);
    for (const Xbyak::Reg64* const one : {&rbx, &r12, &r13, &r14, &r15})
        push(*one);
    sub(rsp, stack_bytes);
    mov(rbx, rdi);
    constexpr auto area = static_cast<u32>(offsetof(WarpContext, area));
    mov(r12, ptr[rbx + area]);
    mov(r14, ptr[rbx + (area + 8)]);
    mov(r13, ptr[rbx + (area + 16)]);
    mov(r15, ptr[rbx + (area + 24)]);
    vmovdqa(ymm15, nan());
    if (flushes_) read_settings();
    jmp(constants_, T_NEAR);
    L(checked_);
    L(guards_);
    u32 assumed = 0;
    if (assumes) {
        for (const auto& [slot, wide] : find_wanted(traces_.front().steps)) {
            if (slot == lode::emulator::slot(Area::warp, laneid)) continue;
            const u8* const row = warp.area[slot >> area_shift] + (slot & offset_mask);
            const auto shape = wide ? shape_of<u64>(row) : shape_of<u32>(row);
            if (shape && assumed++ < most_assumed) emit_guard(slot, *shape, wide);
        }
    }
}

Tracer::Exit& Tracer::add_exit(const Op* target, u32 instructions) {
    Exit& exit = exits_.emplace_back();
    exit.target = target;
    exit.instructions = instructions;
    exit.flushing = is_flushing();
    exit.pending = pending_at(target);
    return exit;
}

Xbyak::Label& Tracer::exit_at(const Step& step) {
    Exit& exit = add_exit(step.op, step.before);
    exit.refuses = is_first(step);
    return exit.label;
}

void Tracer::emit_exit(Exit& exit) {
    L(exit.label);
    assume_flushing(exit.flushing);
    set_flushing(false);
    for (const Pending& one : exit.pending)
        store_row(one);
    if (exit.instructions != 0) {
        add(qword[rbx + static_cast<u32>(offsetof(WarpContext, compiled_instructions))],
            exit.instructions);
    }
    if (exit.refuses) {
        jmp(refuse_, T_NEAR);
    } else if (exit.target == nullptr) {
        jmp(leave_called_, T_NEAR);
    } else {
        mov(rax, reinterpret_cast<u64>(exit.target));
        jmp(leave_, T_NEAR);
    }
}

void Tracer::emit_end() {
    // Traces that begin there add others.
    std::size_t emitted = 0;
    while (emitted < taken_.size())
        emit_taken(taken_[emitted++]);
    for (Exit& exit : exits_)
        emit_exit(exit);
    // They are known now.
    L(constants_);
    test_constants(refuse_);
    jmp(checked_, T_NEAR);
    L(leave_called_);
    cmp(rax, -1);
    jne(leave_, T_NEAR);
    cmp(byte[rbx + static_cast<u32>(offsetof(WarpContext, has_thrown))], 0);
    je(leave_, T_NEAR);
    mov(rdi, rbx);
    emit_epilogue();
    mov(rax, reinterpret_cast<u64>(&throw_again));
    jmp(rax);

    L(refuse_);
    mov(rdi, rbx);
    mov(rsi, reinterpret_cast<u64>(region_.first));
    emit_epilogue();
    mov(rcx, reinterpret_cast<u64>(&region_.kinds[warp.watch ? 1 : 0].refusals));
    inc(dword[rcx]);
    cmp(dword[rcx], most_refusals);
    mov(rax, reinterpret_cast<u64>(region_.original));
    mov(rcx, reinterpret_cast<u64>(&refused));
    cmovae(rax, rcx);
    jmp(rax);

    L(leave_);
    emit_epilogue();
    ret();
    emit_data();
}

void Tracer::emit_epilogue() {
    vzeroupper();
    add(rsp, stack_bytes);
    for (const Xbyak::Reg64* const one : {&r15, &r14, &r13, &r12, &rbx})
        pop(*one);
}

void Tracer::emit_trace(const Trace& trace) {
    for (const Step& step : trace.steps) {
        const bool is_head = loops_to_.contains(step.op) && !heads_.contains(step.op);
        const auto rest =
            std::span(trace.steps).subspan(static_cast<std::size_t>(&step - trace.steps.data()));
        if (is_full() || (is_head && !emit_head(rest))) {
            jmp(exit_at(step), T_NEAR);
            return;
        }
        here_ = step.op;
        emit_step(step);
    }
    if (trace.end != nullptr)
        jmp(add_exit(trace.end, instructions_with(trace.steps.back())).label, T_NEAR);
}

bool Tracer::run(bool assume) {
    find_traces();
    if (traces_.front().steps.empty()) return false;
    assumes = assume;
    emit_start();
    emit_trace(traces_.front());
    emit_end();
    setProtectModeRE();
    return true;
}

std::unique_ptr<MachineCode> compile(const Code& code, const Regions& regions, const Region& region,
                                     const WarpContext& context, bool assume) {
    try {
        auto made = std::make_unique<Tracer>(code, regions, region, context);
        if (!made->run(assume)) return nullptr;
        return made;
    } catch (const Xbyak::Error&) {
        return nullptr;
    }
}

}  // namespace lode::emulator::exec

#endif
