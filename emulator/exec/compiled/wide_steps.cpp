// Code for the ops of a region: predicates, and arithmetic with values that don't have 32 bits.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"

#include <cstddef>

namespace lode::emulator::exec {

void Tracer::emit_predicate(const Step& step) {
    const Op& op = *step.op;
    mov(eax, memory_of(op.r[1]));
    switch (step.kind.action) {
        case Action::predicate_and:
            and_(eax, memory_of(op.r[2]));
            break;
        case Action::predicate_or:
            or_(eax, memory_of(op.r[2]));
            break;
        case Action::predicate_xor:
            xor_(eax, memory_of(op.r[2]));
            break;
        case Action::predicate_not:
            not_(eax);
            break;
        default:
            break;
    }
    mov(memory_of(op.r[0]), eax);
}

void Tracer::emit_widened(const Scalar& index, bool is_signed, Xbyak::Label& exit) {
    load_number(eax, index);
    for (const i32 most : {index.shape.lowest(), index.shape.highest()}) {
        if (most == 0) continue;
        mov(ecx, eax);
        most > 0 ? add(ecx, most) : sub(ecx, -most);
        is_signed ? jo(exit, T_NEAR) : jc(exit, T_NEAR);
    }
    if (is_signed) movsxd(rax, eax);
}

/// Computes with numbers, if all sources are numbers and the result is one of 64 bits.
bool Tracer::emit_wide_scalar(const Step& step) {
    const Op& op = *step.op;
    const Kind& kind = step.kind;
    if (kind.action == Action::convert) {
        const bool narrows = kind.from == 8 && kind.to == 4;
        const bool widens = kind.from == 4 && kind.to == 8;
        const auto a = narrows || widens ? scalar(op.r[1], narrows) : std::nullopt;
        if (!a) return false;
        if (narrows) {
            load_number(eax, *a);
        } else {
            emit_widened(*a, kind.sign, exit_at(step));
        }
        define_scalar(op.r[0], a->shape, widens);
        return true;
    }
    if (kind.action == Action::product || kind.action == Action::product_sum) {
        if (kind.to != 8) return false;
        auto a = scalar(op.r[1]);
        auto b = scalar(op.r[2]);
        if (!a || !b) return false;
        if (a->shape.is_uniform()) std::swap(a, b);
        const bool sums = kind.action == Action::product_sum;
        const auto e = sums ? scalar(op.r[3], true) : std::nullopt;
        if (sums && !e) return false;
        std::optional<Shape> shape = sums ? e->shape : Shape{};
        if (!a->shape.is_uniform()) {
            if (!b->is_constant() && !assume_constant(*b)) return false;
            const auto bits = static_cast<u32>(b->at);
            shape = Shape::sum(*shape, a->shape, kind.sign ? i64{static_cast<i32>(bits)} : bits);
        }
        if (!shape) return false;
        emit_widened(*a, kind.sign, exit_at(step));
        const bool is_short = b->is_constant() && (kind.sign || static_cast<i32>(b->at) >= 0);
        if (is_short) {
            imul(rax, rax, static_cast<int>(b->at));
        } else {
            load_number(ecx, *b);
            if (kind.sign) movsxd(rcx, ecx);
            imul(rax, rcx);
        }
        if (sums) with_number(*e, [&](const auto& other) { add(rax, other); });
        define_scalar(op.r[0], *shape, true);
        return true;
    }
    const auto a = scalar(op.r[1], true);
    if (!a) return false;
    if (kind.action == Action::wide_move) {
        load_number(eax, *a);
        define_scalar(op.r[0], a->shape, true);
        return true;
    }
    const auto b = scalar(op.r[2], true);
    if (!b) return false;
    const bool adds = kind.action == Action::wide_add;
    const auto shape = Shape::sum(a->shape, b->shape, adds ? 1 : -1);
    if (!shape) return false;
    load_number(eax, *a);
    with_number(*b, [&](const auto& other) {
        if (adds) {
            add(rax, other);
        } else {
            sub(rax, other);
        }
    });
    define_scalar(op.r[0], *shape, true);
    return true;
}

void Tracer::emit_wide_rows(const Step& step) {
    const Op& op = *step.op;
    const Kind& kind = step.kind;
    const bool sums = kind.action == Action::product_sum;
    const u32 sources = kind.action == Action::convert || kind.action == Action::wide_move ? 1
                        : sums                                                             ? 3
                                                                                           : 2;
    for (u32 operand = 1; operand <= sources; ++operand)
        settle(op.r[operand]);
    const u32 to = kind.to;
    const auto extend = [&](const Xbyak::Ymm& into, Slot slot, u32 piece) {
        const auto from = memory_of(slot, piece * 32 / to * kind.from);
        switch (to / kind.from * 16 + kind.from) {
            case 2 * 16 + 1:
                kind.sign ? vpmovsxbw(into, from) : vpmovzxbw(into, from);
                break;
            case 4 * 16 + 1:
                kind.sign ? vpmovsxbd(into, from) : vpmovzxbd(into, from);
                break;
            case 2 * 16 + 2:
                kind.sign ? vpmovsxwd(into, from) : vpmovzxwd(into, from);
                break;
            default:
                kind.sign ? vpmovsxdq(into, from) : vpmovzxdq(into, from);
                break;
        }
    };
    for (u32 piece = 0; piece < to; ++piece) {
        const Xbyak::Ymm made = to == 4 ? fresh() : ymm0;
        switch (kind.action) {
            case Action::convert:
                if (kind.from > to) {
                    load_low_halves(made, op.r[1], piece);
                } else {
                    extend(made, op.r[1], piece);
                }
                break;
            case Action::product:
            case Action::product_sum:
                extend(made, op.r[1], piece);
                extend(ymm1, op.r[2], piece);
                if (to == 4) {
                    vpmulld(made, made, ymm1);
                } else if (kind.sign) {
                    vpmuldq(made, made, ymm1);
                } else {
                    vpmuludq(made, made, ymm1);
                }
                if (sums) vpaddq(made, made, memory_of(op.r[3], 32 * piece));
                break;
            default:
                vmovdqa(made, memory_of(op.r[1], 32 * piece));
                if (kind.action == Action::wide_add) {
                    vpaddq(made, made, memory_of(op.r[2], 32 * piece));
                } else if (kind.action == Action::wide_subtract) {
                    vpsubq(made, made, memory_of(op.r[2], 32 * piece));
                }
                break;
        }
        if (to == 4) {
            define_quarter(op.r[0], piece, made);
            release();
        } else {
            vmovdqa(memory_of(op.r[0], 32 * piece), made);
        }
    }
    if (to == 4) {
        finish_row(op.r[0]);
    } else {
        forget(op.r[0]);
    }
}

}  // namespace lode::emulator::exec

#endif
