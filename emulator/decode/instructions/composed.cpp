// Instructions that take several ops: mixed precision, pairs of floats, sparse vectors, min and max
// of three operands, logic with a predicate.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"

#include <algorithm>
#include <vector>

namespace lode::emulator::decode {

// Widening a half to float is exact.
void mixed_arithmetic(Builder& b, const std::string& name, Word half, exec::RealFlags flags) {
    b.opcode().take(b.opcode().count() - 2);
    const Destination to = b.destination(b.operand(0), 'w');
    std::array<Slot, 5> slots;
    slots.fill(no_slot);
    slots[0] = to.slot;
    const u32 last = b.operand_count() - 1;
    for (u32 k = 1; k < last && !b.refused(); ++k) {
        const Slot narrow = b.source(b.operand(k), 'h');
        slots[k] = b.temporary('w');
        b.emit_row("cvt.f32." + std::string(half.text()), {slots[k], narrow});
    }
    slots[last] = b.source(b.operand(last), 'w');
    if (b.refused()) return;
    b.emit_row(name + (flags != exec::RealFlags{} ? ".ex.f32" : ".f32"),
               {slots[0], slots[1], slots[2], slots[3], slots[4]}, flags);
    b.write_back(to);
}

namespace {

/// The two parts of a packed value as floats.
std::array<Slot, 2> floats_of(Builder& b, const ptx::Operand& operand, Word type) {
    const bool wide = type == "f32x2";
    const Slot both = b.source(operand, wide ? 'd' : 'w');
    std::array<Slot, 2> parts{};
    for (Slot& part : parts)
        part = b.temporary(wide ? 'w' : 'h');
    if (b.refused()) return parts;
    b.emit_row(wide ? "unpack.d.w" : "unpack.w.h", {parts[0], parts[1], both});
    for (Slot& part : parts) {
        if (wide) break;
        const Slot narrow = part;
        part = b.temporary('w');
        b.emit_row(type == "f16x2" ? "cvt.f32.f16" : "cvt.f32.bf16", {part, narrow});
    }
    return parts;
}

}  // namespace

// add, sub and fma into .f32x2, of which the other operands are .f16x2, .bf16x2 or .f32x2; add, sub
// and mul of .f32x2 into .bf16x2.
void packed_mixed_arithmetic(Builder& b, const std::string& name, exec::RealFlags flags) {
    const auto types = std::span(b.instruction().reading->words).last(b.operand_count());
    for (u32 k = 1; k <= b.operand_count(); ++k)
        b.opcode().take(b.opcode().count() - k);
    const bool is_wide = types[0] == "f32x2";
    if (!is_wide && types[0] != "bf16x2") return b.refuse();
    if (!is_wide && types[1] != "f32x2") return b.refuse();
    const Destination to = b.destination(b.operand(0), is_wide ? 'd' : 'w');
    std::array<std::array<Slot, 5>, 2> halves;
    for (auto& slots : halves) {
        slots.fill(no_slot);
        slots[0] = b.temporary(is_wide ? 'w' : 'h');
    }
    for (u32 k = 1; k < b.operand_count() && !b.refused(); ++k) {
        const auto parts = floats_of(b, b.operand(k), types[k]);
        for (u32 half = 0; half < 2; ++half)
            halves[half][k] = parts[half];
    }
    if (b.refused()) return;
    const std::string key =
        name + (is_wide ? flags != exec::RealFlags{} ? ".ex.f32" : ".f32" : ".rz.bf16.f32");
    for (const auto& slots : halves)
        b.emit_row(key, {slots[0], slots[1], slots[2], slots[3], slots[4]}, flags);
    b.emit_row(is_wide ? "pack.d.w" : "pack.w.h", {to.slot, halves[0][0], halves[1][0]});
    b.write_back(to);
}

// spdecompress {whole}, {places}, {numbers}: of each group of places, some have numbers, the others
// zeros.
void spdecompress(Builder& b) {
    Opcode& opcode = b.opcode();
    struct Factor {
        Word word;
        u32 numbers, places;
    };
    static constexpr Factor factors[] = {
        {"sp::1:2", 1, 2},   {"sp::1:4", 1, 4},   {"sp::2:4", 2, 4},
        {"sp::1:8", 1, 8},   {"sp::2:8", 2, 8},   {"sp::4:8", 4, 8},
        {"sp::1:16", 1, 16}, {"sp::2:16", 2, 16}, {"sp::4:16", 4, 16}};
    const bool is_wide = opcode.take("b16");
    const bool has_wide_fields = opcode.take("b4");
    const Factor* const factor = opcode.take_row(factors);
    if (factor == nullptr) return b.refuse();
    opcode.take_all();
    const auto slots_of = [&](const ptx::Operand& list) {
        std::vector<Slot> slots;
        for (const ptx::Operand& one : b.list(list))
            slots.push_back(b.source(one, 'w'));
        return slots;
    };
    const auto places = slots_of(b.operand(1));
    const auto numbers = slots_of(b.operand(2));
    const auto results = b.list(b.operand(0));
    const u32 in_register = is_wide ? 2 : 4;
    const u32 fields = has_wide_fields ? 8 : 16;
    const u32 in_part = std::min(factor->places, in_register);
    std::vector<Slot> whole;
    for (u32 k = 0; k < results.size() && !b.refused(); ++k) {
        whole.push_back(b.constant(0, 4));
        for (u32 at = 0; at < in_register; at += in_part) {
            const u32 position = k * in_register + at;
            const u32 group = position / factor->places;
            for (u32 n = 0; n < factor->numbers; ++n) {
                const u32 number = group * factor->numbers + n;
                exec::SpreadFlags flags{.has_wide_fields = has_wide_fields,
                                        .is_wide = is_wide,
                                        .has_four = in_part == 4};
                flags.from = number % in_register & 3;
                flags.field = number % fields & 15;
                flags.first = position % factor->places & 15;
                flags.at = at & 3;
                const Slot next = b.temporary('w');
                b.emit_row("spread",
                           {next, whole[k], numbers[number / in_register], places[number / fields]},
                           flags);
                whole[k] = next;
            }
        }
    }
    for (u32 k = 0; k < results.size() && !b.refused(); ++k) {
        const Destination to = b.destination(results[k], 'w');
        if (b.refused()) return;
        b.emit_row("mov.b32", {to.slot, whole[k]});
        b.write_back(to);
    }
}

void paired_arithmetic(Builder& b, std::string_view key, exec::RealFlags flags) {
    const Destination to = b.destination(b.operand(0), 'd');
    std::array<std::array<Slot, 5>, 2> halves;
    for (auto& slots : halves) {
        slots.fill(no_slot);
        slots[0] = b.temporary('w');
    }
    for (u32 k = 1; k < b.operand_count() && !b.refused(); ++k) {
        const Slot both = b.source(b.operand(k), 'd');
        for (auto& slots : halves)
            slots[k] = b.temporary('w');
        b.emit_row("unpack.d.w", {halves[0][k], halves[1][k], both});
    }
    for (const auto& slots : halves)
        b.emit_row(key, {slots[0], slots[1], slots[2], slots[3], slots[4]}, flags);
    if (b.refused()) return;
    b.emit_row("pack.d.w", {to.slot, halves[0][0], halves[1][0]});
    b.write_back(to);
}

void extreme_of_three(Builder& b, const std::string& name, bool flush, exec::RealFlags flags) {
    if (flags != exec::RealFlags{}) return b.refuse();
    const std::string ftz = flush ? ".ftz" : "";
    const bool absolute = b.opcode().take("abs");
    const std::string key = name + ftz + (b.opcode().take("NaN") ? ".NaN" : "") + ".f32";
    const Destination to = b.destination(b.operand(0), 'w');
    std::array<Slot, 3> from;
    for (u32 k = 0; k < from.size() && !b.refused(); ++k) {
        from[k] = b.source(b.operand(k + 1), 'w');
        if (!absolute || b.refused()) continue;
        const Slot given = from[k];
        from[k] = b.temporary('w');
        b.emit_row("abs" + ftz + ".f32", {from[k], given});
    }
    if (b.refused()) return;
    const Slot two = b.temporary('w');
    b.emit_row(key, {two, from[0], from[1]});
    b.emit_row(key, {to.slot, two, from[2]});
    b.write_back(to);
}

namespace {

// lop3, including the forms that test whether the result is nonzero and combine it with a predicate
// by .or or .and.
void logic3(Builder& b) {
    b.opcode().take_last();
    const bool any_or = b.opcode().take("or");
    const bool any_and = b.opcode().take("and");
    const Destination to = b.destination(b.operand(0), 'w');
    std::array<Slot, 3> from;
    for (u32 k = 0; k < from.size(); ++k)
        from[k] = b.source(b.operand(k + 1), 'w');
    if (b.operand(4).kind != ptx::OperandKind::integer)
        return b.refuse("without a constant immLut");
    if (b.refused()) return;
    b.emit_row("lop3.b32", {to.slot, from[0], from[1], from[2]},
               static_cast<u16>(b.operand(4).bits & 255));
    b.write_back(to);
    if (!any_or && !any_and) return;
    const Slot other = b.predicate(b.operand(5));
    const Slot result = b.second_destination(b.operand(0));
    if (result == no_slot) return b.refuse("without a predicate destination");
    if (b.refused()) return;
    const Slot any = b.temporary('p');
    b.emit_row("setp.ne.32", {any, to.slot, b.constant(0, 4)});
    b.emit_row(any_and ? "and.pred" : "or.pred", {result, any, other});
}

constexpr OpcodeDecoder composed_decoders[] = {{"lop3", logic3}};

}  // namespace

OpcodeDecoders composed_opcodes() noexcept {
    return composed_decoders;
}

}  // namespace lode::emulator::decode
