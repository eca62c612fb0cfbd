// Code for the ops of a region: arithmetic.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/load_store.hpp"
#include "emulator/isa/warp.hpp"

#include <cstddef>

namespace lode::emulator::exec {

namespace {

bool computes_reals(const Kind& kind) {
    const bool compares =
        kind.action == Action::compare || kind.action == Action::compare_and_branch;
    return compares ? kind.compare == Compare::real
                    : kind.action >= Action::real_add && kind.action <= Action::real_fma;
}

}  // namespace

void Tracer::emit_step(const Step& step) {
    // Before there are exits.
    if (computes_reals(step.kind)) set_flushing(step.kind.flushes);
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
        case Action::shuffle:
            emit_shuffle(step);
            break;
        case Action::shuffle_fixed:
            emit_fixed_shuffle(step);
            break;
        case Action::predicate_and:
        case Action::predicate_or:
        case Action::predicate_xor:
        case Action::predicate_not:
        case Action::predicate_move:
            emit_predicate(step);
            break;
        case Action::convert:
        case Action::product:
        case Action::product_sum:
        case Action::wide_add:
        case Action::wide_subtract:
        case Action::wide_move:
            if (!emit_wide_scalar(step)) emit_wide_rows(step);
            break;
        case Action::atomic:
            emit_atomic(step);
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
    auto a = scalar(op.r[1]);
    if (!a) return false;
    if (action == Action::move) {
        load_number(eax, *a);
        define_scalar(op.r[0], a->shape);
        return true;
    }
    auto b = scalar(op.r[2]);
    if (!b) return false;
    const bool uniform = a->shape.is_uniform() && b->shape.is_uniform();
    const auto load_and = [&](const auto& emit) {
        load_number(eax, *a);
        with_number(*b, emit);
    };
    std::optional<Shape> shape = Shape{};
    switch (action) {
        case Action::add:
            shape = Shape::sum(a->shape, b->shape);
            if (!shape) return false;
            load_and([&](const auto& other) { add(eax, other); });
            break;
        case Action::subtract:
            shape = Shape::sum(a->shape, b->shape, -1);
            if (!shape) return false;
            load_and([&](const auto& other) { sub(eax, other); });
            break;
        case Action::multiply:
        case Action::multiply_add: {
            std::optional<Scalar> e;
            if (action == Action::multiply_add) {
                e = scalar(op.r[3]);
                if (!e) return false;
                shape = e->shape;
            }
            if (!uniform) {
                if (a->shape.is_uniform()) std::swap(a, b);
                if (!b->is_constant() && !assume_constant(*b)) return false;
                shape = Shape::sum(*shape, a->shape, static_cast<i32>(b->at));
                if (!shape) return false;
            }
            load_number(eax, *a);
            multiply_eax(*b);
            if (e) with_number(*e, [&](const auto& other) { add(eax, other); });
            break;
        }
        case Action::shift_left:
            if (!b->is_constant() || b->at > 31) return false;
            shape = a->shape.times(i64{1} << b->at);
            if (!shape) return false;
            load_number(eax, *a);
            shl(eax, static_cast<int>(b->at));
            break;
        case Action::shift_right_unsigned:
        case Action::shift_right_signed:
            if (!uniform || !b->is_constant() || b->at > 31) return false;
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
            load_and([&](const auto& other) {
                if (action == Action::bit_and) {
                    and_(eax, other);
                } else if (action == Action::bit_or) {
                    or_(eax, other);
                } else {
                    xor_(eax, other);
                }
            });
            break;
        default:
            return false;
    }
    define_scalar(op.r[0], *shape);
    return true;
}

void Tracer::emit_rows(const Step& step) {
    const Op& op = *step.op;
    const Action action = step.kind.action;
    std::vector<Slot> dead;  // Sources that nothing reads afterwards.
    for (const Slot slot : {op.r[1], op.r[2], op.r[3]})
        if (slot != op.r[0] && slot >> area_shift == 0 && !is_live({slot, {}}, &op + 1))
            dead.push_back(slot);
    for (u32 q = 0; q < 4; ++q) {
        const Xbyak::Ymm a = quarter(op.r[1], q);
        if (action == Action::move) {
            const Xbyak::Ymm to = fresh();
            vmovdqa(to, a);
            define_quarter(op.r[0], q, to);
            release();
            continue;
        }
        const Xbyak::Ymm b = action == Action::real_round ? a : quarter(op.r[2], q);
        const bool three = action == Action::multiply_add || action == Action::real_fma;
        const Xbyak::Ymm e = three ? quarter(op.r[3], q) : b;
        const bool in_place =
            action == Action::real_fma && op.r[0] == op.r[3] && is_own(op.r[3], q, e);
        const Xbyak::Ymm to = in_place ? e : fresh();
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
                case Action::real_round: {
                    constexpr u8 quiet = 8;
                    vroundps(to, a, step.kind.rounding | quiet);
                    break;
                }
                default:
                    if (in_place) {
                        vfmadd231ps(to, a, b);
                    } else {
                        vmovaps(to, a);
                        vfmadd213ps(to, b, e);
                    }
                    break;
            }
            // The device has one NaN.
            vcmpps(ymm0, to, to, 3);
            vblendvps(to, to, ymm15, ymm0);
        }
        define_quarter(op.r[0], q, to);
        release();
        for (const Slot slot : dead)
            drop_quarter(slot, q);
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

/// A shuffle by indices among all lanes of the warp.
void Tracer::emit_shuffle(const Step& step) {
    const Op& op = *step.op;
    const auto limits = scalar(op.r[4]);
    const auto members = scalar(op.r[members_operand]);
    if (op.flags.as<Shuffle>() != Shuffle::index || op.r[0] == no_slot || !limits ||
        !limits->shape.is_uniform() || !members || !members->shape.is_uniform())
        return emit_call(step);
    // No segments, and all lanes.
    Xbyak::Label& exit = exit_at(step);
    load_number(eax, *limits);
    cmp(eax, lanes - 1);
    jne(exit, T_NEAR);
    load_number(eax, *members);
    cmp(eax, -1);
    jne(exit, T_NEAR);
    // The row of the values, or of the indices, may be that of the result.
    Xbyak::Ymm from[4], made[4];
    for (u32 q = 0; q < 4; ++q)
        from[q] = quarter(op.r[2], q);
    for (u32 q = 0; q < 4; ++q) {
        const Xbyak::Ymm index = quarter(op.r[3], q);
        made[q] = fresh();
        // Bits 3 and 4 of the index choose a quarter; vblendvps takes the sign.
        vpslld(ymm2, index, 28);
        vpermd(ymm0, index, from[0]);
        vpermd(ymm1, index, from[1]);
        vblendvps(ymm3, ymm0, ymm1, ymm2);
        vpermd(ymm0, index, from[2]);
        vpermd(ymm1, index, from[3]);
        vblendvps(ymm0, ymm0, ymm1, ymm2);
        vpslld(ymm2, index, 27);
        vblendvps(made[q], ymm3, ymm0, ymm2);
        unpin(index, {from, 4});
    }
    for (u32 q = 0; q < 4; ++q)
        define_quarter(op.r[0], q, made[q]);
    finish_row(op.r[0]);
    if (op.r[1] == no_slot) return;
    mov(eax, all_lanes);
    mov(memory_of(op.r[1]), eax);
}

/// A shuffle whose source lanes are constants, as shuffle_fixed() does it.
void Tracer::emit_fixed_shuffle(const Step& step) {
    const Op& op = *step.op;
    const auto& fixed = *static_cast<const FixedShuffle*>(op.table);
    // The row of the value may be that of the result.
    Xbyak::Ymm made[4] = {ymm0, ymm1, ymm2, ymm3};
    if (fixed.members != all_lanes || op.r[0] == no_slot) return emit_call(step);
    for (u32 q = 0; q < 4; ++q) {
        const u32* const from = fixed.from + std::size_t{8} * q;
        bool first = true;
        for (u32 other = 0; other < 4; ++other) {
            u32 chosen = 0;
            for (u32 i = 0; i < 8; ++i)
                chosen |= u32{from[i] / 8 == other} << i;
            if (chosen == 0) continue;
            const Xbyak::Ymm lanes_of = quarter(op.r[2], other);
            const Xbyak::Ymm order = fresh();
            vmovdqa(order, permutation(from));
            if (first) {
                vpermd(made[q], order, lanes_of);
            } else {
                vpermd(order, order, lanes_of);
                vpblendd(made[q], made[q], order, static_cast<u8>(chosen));
            }
            first = false;
            release();
        }
    }
    for (u32 q = 0; q < 4; ++q) {
        const Xbyak::Ymm to = fresh();
        vmovdqa(to, made[q]);
        define_quarter(op.r[0], q, to);
        release();
    }
    finish_row(op.r[0]);
    if (op.r[1] == no_slot) return;
    mov(eax, fixed.valid);
    mov(memory_of(op.r[1]), eax);
}

}  // namespace lode::emulator::exec

#endif
