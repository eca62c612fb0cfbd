// Instructions that several ops do: mixed precision, pairs of floats, three operands of a minimum,
// a logical operation with a predicate.
#include "emulator/decode/decoder.hpp"

namespace lode::emulator::decode {

// add, sub and fma of .f32 with halves: these are exact as floats.
void Decoder::mixed_arithmetic(const std::string& base, std::string_view half, u16 flags) {
    parts_.take(parts_.count() - 2);
    const Target target = target_of(operand(0), 'w');
    std::array<Slot, 5> slots;
    slots.fill(no_slot);
    slots[0] = target.written;
    const u32 last = operand_count() - 1;
    for (u32 k = 1; k < last && !refusal_; ++k) {
        const Slot narrow = source_of(operand(k), 'h');
        slots[k] = temporary('w');
        emit_row("cvt.f32." + std::string(half), {slots[k], narrow});
    }
    slots[last] = source_of(operand(last), 'w');
    if (refusal_) return;
    emit_row(base + (flags != 0 ? ".ex.f32" : ".f32"),
             {slots[0], slots[1], slots[2], slots[3], slots[4]});
    if (refusal_) return;
    code_.ops.back().flags = flags;
    settle(target);
}

// add, sub, mul and fma of .f32x2: `key` is that of one float.
void Decoder::paired_arithmetic(const std::string& key, u16 flags) {
    const Target target = target_of(operand(0), 'd');
    std::array<std::array<Slot, 5>, 2> slots;
    for (auto& one : slots) {
        one.fill(no_slot);
        one[0] = temporary('w');
    }
    for (u32 k = 1; k < operand_count() && !refusal_; ++k) {
        const Slot both = source_of(operand(k), 'd');
        for (auto& one : slots)
            one[k] = temporary('w');
        emit_row("unpack.d.w", {slots[0][k], slots[1][k], both}, 3);
    }
    for (const auto& one : slots) {
        if (refusal_) return;
        emit_row(key, {one[0], one[1], one[2], one[3], one[4]});
        if (!refusal_) code_.ops.back().flags = flags;
    }
    if (refusal_) return;
    emit_row("pack.d.w", {target.written, slots[0][0], slots[1][0]});
    settle(target);
}

// min and max of three floats, or of what they are without their signs.
void Decoder::extreme_of_three(const std::string& base, bool flush, u16 flags) {
    if (flags != 0) return refuse();
    const std::string ftz = flush ? ".ftz" : "";
    const bool absolute = parts_.take("abs");
    const std::string key = base + ftz + (parts_.take("NaN") ? ".NaN" : "") + ".f32";
    const Target target = target_of(operand(0), 'w');
    std::array<Slot, 3> from;
    for (u32 k = 0; k < from.size() && !refusal_; ++k) {
        from[k] = source_of(operand(k + 1), 'w');
        if (!absolute || refusal_) continue;
        const Slot given = from[k];
        from[k] = temporary('w');
        emit_row("abs" + ftz + ".f32", {from[k], given});
    }
    if (refusal_) return;
    const Slot two = temporary('w');
    emit_row(key, {two, from[0], from[1]});
    emit_row(key, {target.written, two, from[2]});
    settle(target);
}

// lop3, and its forms that say whether the result has a bit, .or'ed or .and'ed with a predicate.
void Decoder::logic3() {
    parts_.take_last();
    const bool joins = parts_.take("or");
    const bool both = parts_.take("and");
    const Target target = target_of(operand(0), 'w');
    const Slot a = source_of(operand(1), 'w');
    const Slot b = source_of(operand(2), 'w');
    const Slot e = source_of(operand(3), 'w');
    if (operand(4).kind != ptx::OperandKind::integer) return refuse("without a table");
    if (refusal_) return;
    emit_row("lop3.b32", {target.written, a, b, e});
    code_.ops.back().flags = static_cast<u16>(operand(4).bits & 255);
    settle(target);
    if (!joins && !both) return;
    const Slot other = predicate_source(operand(5));
    if (operand(0).pair < 0) return refuse("without a predicate");
    if (refusal_) return;
    const Slot any = temporary('p');
    emit_row("setp.ne.32", {any, target.written, constant(0, 4)});
    emit_row(both ? "and.pred" : "or.pred",
             {slots_[static_cast<u32>(operand(0).pair)], any, other});
}

}  // namespace lode::emulator::decode
