// Arithmetic, comparisons and conversions: canonical keys for the opcode table.
#include "emulator/decode/decoder.hpp"
#include "emulator/decode/ops/real.hpp"
#include "emulator/decode/ops/set.hpp"

#include <algorithm>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

bool is_half(std::string_view type) {
    return type == "f16" || type == "f16x2" || type == "bf16" || type == "bf16x2";
}
bool is_real(std::string_view type) {
    return type == "f32" || type == "f64" || type == "f32x2" || is_half(type);
}
bool is_signed(std::string_view type) {
    return !type.empty() && type[0] == 's';
}

/// The flags of rounding modifiers; rn and rna give nothing.
u16 rounding_of(std::string_view part) {
    if (part == "rz" || part == "rzi") return exec::zero;
    if (part == "rm" || part == "rmi") return exec::down;
    if (part == "rp" || part == "rpi") return exec::up;
    return exec::nearest;
}

u32 combine_of(std::string_view part) {
    if (part == "and") return 1;
    if (part == "or") return 2;
    if (part == "xor") return 3;
    return 0;
}

constexpr std::string_view comparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                            "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

/// Other names of unsigned comparisons: lo, ls, hi, hs.
std::string_view plain_comparison(std::string_view name) {
    if (name == "lo") return "lt";
    if (name == "ls") return "le";
    if (name == "hi") return "gt";
    if (name == "hs") return "ge";
    return name;
}

}  // namespace

void Decoder::row_with_key(std::string_view key, u16 flags) {
    const OpRow* const row = find_op(key);
    if (row == nullptr) return refuse();
    const std::string_view letters(row->operands);
    const bool sign = is_signed(parts_.take_last());
    std::array<Slot, 8> slots;
    slots.fill(no_slot);
    const u32 given = operand_count();
    const Target target = target_of(operand(0), letters[0], sign);
    slots[0] = target.written;
    for (u32 k = 1; k < letters.size(); ++k) {
        if (k >= given) return refuse("with too few operands");
        slots[k] = source_of(operand(k), letters[k], sign);
    }
    if (refusal_) return;
    if (given != letters.size()) return refuse("with so many operands");
    emit(row->run, {slots[0], slots[1], slots[2], slots[3], slots[4]}).flags = flags;
    settle(target);
}

// The key is the whole opcode, so that nothing of it is left.
void Decoder::table_row() {
    parts_.take_all();
    row_with_key(instruction_->opcode);
}

// add, sub, mul, fma, … of reals: rounding and saturation choose the form.
void Decoder::real_arithmetic() {
    const std::string_view type = parts_.take_last();
    if (!is_real(type)) {
        if (parts_.take("cc")) return carry_arithmetic();
        return table_row();
    }
    u16 flags = 0;
    parts_.ignore({"rn"});
    for (const std::string_view rounding : {"rz", "rm", "rp"}) {
        if (parts_.take(rounding)) flags |= rounding_of(rounding);
    }
    const bool flush = parts_.take("ftz");
    if (parts_.take("sat")) flags |= exec::saturate_flag;
    const bool extended = flags != 0;
    if (parts_.take("relu")) flags |= exec::relu_flag;
    std::string base(parts_.base());
    if (base == "mad") base = "fma";
    if (base == "min" || base == "max") {
        if (operand_count() == 4) return extreme_of_three(base, flush, flags);
    }
    if (parts_.count() > 2 && is_real(parts_.peek(parts_.count() - 2)))
        return mixed_arithmetic(base, type, flags);
    if (type == "f32x2") {
        if (extended && flush) flags |= exec::flush_flag;
        return paired_arithmetic(base + (extended ? ".ex.f32"
                                         : flush  ? ".ftz.f32"
                                                  : ".f32"),
                                 flags);
    }
    if (is_half(type)) {
        if (flush) flags |= exec::flush_flag;
        if (base == "ex2" || base == "tanh") {
            const std::string_view approximate = parts_.take("approx") ? ".approx" : "";
            return row_with_key(
                base + std::string(approximate) + (flush ? ".ftz." : ".") + std::string(type),
                flags);
        }
        if (parts_.take("NaN")) flags |= 32;
        if (parts_.take("xorsign") && parts_.take("abs")) flags |= 64;
        if ((flags & exec::round_mask) != 0) return refuse();
        return row_with_key(base + "." + std::string(type), flags);
    }
    std::string rest;
    for (const std::string_view word : {"approx", "full", "NaN", "xorsign", "abs"}) {
        if (!parts_.take(word)) continue;
        rest += '.';
        rest += word;
    }
    if (extended) {
        if (!rest.empty()) return refuse();
        if (flush) flags |= exec::flush_flag;
        return row_with_key(base + ".ex." + std::string(type), flags);
    }
    if (type == "f64") return row_with_key(base + rest + (flush ? ".ftz.f64" : ".f64"), flags);
    // The table keeps .approx and .full ahead of .ftz, and .NaN and .xorsign behind it.
    const bool leads = rest == ".approx" || rest == ".full";
    const std::string ftz = flush ? ".ftz" : "";
    row_with_key(leads ? base + rest + ftz + ".f32" : base + ftz + rest + ".f32", flags);
}

// add.cc, addc, mad.lo.cc, …: the carry is one more operand.
void Decoder::carry_arithmetic() {
    parts_.take_all();
    const OpRow* const row = find_op(instruction_->opcode);
    if (row == nullptr) return refuse();
    const std::string_view letters(row->operands);
    const Target target = target_of(operand(0), letters[0]);
    std::array<Slot, 8> slots;
    slots.fill(no_slot);
    slots[0] = target.written;
    if (operand_count() + 1 != letters.size()) return refuse("with so many operands");
    for (u32 k = 1; k + 1 < letters.size(); ++k)
        slots[k] = source_of(operand(k), letters[k]);
    const auto last = static_cast<u32>(letters.size()) - 1;
    slots[last] = carry_slot();
    if (refusal_) return;
    emit(row->run, {slots[0], slots[1], slots[2], slots[3], slots[4]},
         static_cast<u8>(1 | (1u << last)));
    settle(target);
}

u32 Decoder::take_combine() {
    u32 how = 0;
    for (const std::string_view word : {"and", "or", "xor"}) {
        if (parts_.take(word)) how = combine_of(word);
    }
    return how;
}

void Decoder::set_predicate() {
    const std::string_view type = parts_.take_last();
    const std::string_view comparison = plain_comparison(parts_.take(1));
    const u32 how = take_combine();
    const bool flush = parts_.take("ftz");
    const ptx::Operand& to = operand(0);
    const bool packed = type == "f16x2" || type == "bf16x2";
    Slot second = no_slot;
    if (to.pair >= 0) second = slots_[static_cast<u32>(to.pair)];
    const Target first = target_of(to, 'p');
    Slot other = no_slot;
    if (how != 0) other = source_of(operand(3), 'p');
    if (packed) {
        const auto at = std::ranges::find(comparisons, comparison);
        if (at == std::end(comparisons)) return refuse();
        const OpRow* const row = find_op("setp." + std::string(type));
        const Slot a = source_of(operand(1), 'w');
        const Slot b = source_of(operand(2), 'w');
        if (refusal_) return;
        emit(row->run, {first.written, a, b, other, second}, 0x11).flags =
            static_cast<u16>((at - std::begin(comparisons)) | (how << exec::set_combine_shift) |
                             (flush ? exec::set_flush : 0));
        return;
    }
    // Equality and its like need no sign; the others take it from the type.
    std::string key(comparison);
    key += '.';
    const bool integer = !is_real(type);
    if (!integer) {
        if (flush && (type == "f32" || type == "f16")) key += "ftz.";
        key += type;
    } else if (comparison == "eq" || comparison == "ne") {
        key += type.substr(1);
    } else {
        key += type[0] == 's' ? 's' : 'u';
        key += type.substr(1);
    }
    const bool whole = how != 0 || second != no_slot;
    const OpRow* const row = find_op((whole ? "setp.x." : "setp.") + key);
    if (row == nullptr) return refuse();
    const Slot a = source_of(operand(1), row->operands[1], is_signed(type));
    const Slot b = source_of(operand(2), row->operands[2], is_signed(type));
    if (refusal_) return;
    emit(row->run, {first.written, a, b, other, second}, whole ? 0x11 : 1).flags =
        static_cast<u16>(how);
}

void Decoder::set_value() {
    const std::string_view from = parts_.take_last();
    const std::string_view result = parts_.take(parts_.count() - 2);
    const auto at = std::ranges::find(comparisons, plain_comparison(parts_.take(1)));
    if (at == std::end(comparisons)) return refuse();
    const u32 how = take_combine();
    const OpRow* const row = find_op("set." + std::string(result) + "." + std::string(from));
    if (row == nullptr) return refuse();
    const Target target = target_of(operand(0), row->operands[0], is_signed(result));
    const Slot a = source_of(operand(1), row->operands[1], is_signed(from));
    const Slot b = source_of(operand(2), row->operands[2], is_signed(from));
    const Slot other = how != 0 ? source_of(operand(3), 'p') : no_slot;
    if (refusal_) return;
    u32 flags = static_cast<u32>(at - std::begin(comparisons)) | (how << exec::set_combine_shift);
    if (parts_.take("ftz")) flags |= exec::set_flush;
    if (result == "f16" || result == "f16x2") flags |= exec::set_half_result;
    if (result == "bf16" || result == "bf16x2") flags |= exec::set_bfloat_result;
    emit(row->run, {target.written, a, b, other}).flags = static_cast<u16>(flags);
    settle(target);
}

void Decoder::convert() {
    if (parts_.peek(1) == "pack") return convert_packed();
    const std::string_view from = parts_.take_last();
    const std::string_view to = parts_.take(parts_.count() - 2);
    u16 flags = 0;
    bool whole = false;  // .rni and its like
    bool directed = false;
    if (parts_.take("ftz")) flags |= exec::flush_flag;
    if (parts_.take("sat")) flags |= exec::saturate_flag;
    if (parts_.take("relu")) flags |= exec::relu_flag;
    if (parts_.take("satfinite")) flags |= 32;
    if (parts_.take("rna")) flags |= 64;
    parts_.ignore({"rn"});
    for (const std::string_view part : {"rz", "rm", "rp"}) {
        if (!parts_.take(part)) continue;
        flags |= rounding_of(part);
        directed = true;
    }
    for (const std::string_view part : {"rni", "rzi", "rmi", "rpi"}) {
        if (!parts_.take(part)) continue;
        flags |= rounding_of(part);
        whole = true;
    }
    const std::string pair = std::string(to) + "." + std::string(from);
    const bool real_from = is_real(from);
    const bool real_to = is_real(to);
    std::string key = "cvt.";
    const bool extra =
        (flags & (exec::flush_flag | exec::saturate_flag | exec::relu_flag | 32)) != 0;
    if (real_from && real_to) {
        const bool narrowing = operand_count() == 3;
        if (!narrowing && to == from && whole) {
            static constexpr std::string_view names[] = {"rni.", "rzi.", "rmi.", "rpi."};
            key += extra || is_half(to) ? "int.ex." : names[flags & exec::round_mask];
        } else if (!narrowing && (extra || directed)) {
            key += "ex.";
        }
    } else if (real_from) {
        static constexpr std::string_view names[] = {"rni.", "rzi.", "rmi.", "rpi."};
        const bool to_integer = to[0] == 's' || to[0] == 'u';
        if (to_integer && !whole) flags |= exec::zero;
        if (is_half(from)) {
            key += "int.";
        } else if ((flags & exec::flush_flag) != 0 && from == "f32") {
            key += "int.ftz.";
        } else {
            key += names[flags & exec::round_mask];
        }
        if (!to_integer) key = "cvt.";  // the narrow formats
    } else if (real_to && (from[0] == 's' || from[0] == 'u')) {
        if (extra || directed) key += "ex.";
    } else if (!real_to && (flags & exec::saturate_flag) != 0) {
        key += "sat.";
    }
    key += pair;
    const OpRow* const row = find_op(key);
    if (row == nullptr) return refuse();
    const std::string_view letters(row->operands);
    const Target target = target_of(operand(0), letters[0], is_signed(to));
    Slot b = no_slot;
    const Slot a = source_of(operand(1), letters[1], is_signed(from));
    if (letters.size() == 3) b = source_of(operand(2), letters[2]);
    if (letters.size() != operand_count()) return refuse("with so many operands");
    if (refusal_) return;
    emit(row->run, {target.written, a, b}).flags = flags;
    settle(target);
}

void Decoder::convert_packed() {
    parts_.take_all();
    row_with_key(instruction_->opcode);
}

}  // namespace lode::emulator::decode
