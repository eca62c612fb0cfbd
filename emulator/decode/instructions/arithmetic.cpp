// Arithmetic: types, rounding and other modifiers select the row of the operation table.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/real.hpp"

#include <algorithm>

namespace lode::emulator::decode {

using exec::RealFlags;

namespace {

// add.cc, addc, mad.lo.cc and similar: the carry is an additional operand, read and written.
void carry_arithmetic(Builder& b) {
    b.opcode().take_all();
    const OpRow* const row = find_op(b.instruction().opcode);
    if (row == nullptr) return b.refuse();
    const std::string_view letters(row->operands);
    const Destination to = b.destination(b.operand(0), letters[0]);
    if (b.operand_count() + 1 != letters.size())
        return b.refuse("with " + std::to_string(b.operand_count()) + " operands");
    std::array<Slot, 8> slots;
    slots.fill(no_slot);
    slots[0] = to.slot;
    for (u32 k = 1; k + 1 < letters.size(); ++k)
        slots[k] = b.source(b.operand(k), letters[k]);
    slots[letters.size() - 1] = b.frame().carry();
    if (b.refused()) return;
    b.emit(row->operation(), {slots[0], slots[1], slots[2], slots[3], slots[4]});
    b.write_back(to);
}

void half_arithmetic(Builder& b, const std::string& name, Word type, bool flush, RealFlags flags) {
    Opcode& opcode = b.opcode();
    flags.flush |= flush;
    if (opcode.name() == "ex2" || opcode.name() == "tanh") {
        const std::string approximate = opcode.take("approx") ? ".approx" : "";
        const std::string key =
            name + approximate + (flush ? ".ftz." : ".") + std::string(type.text());
        return decode_by_table(b, key, flags);
    }
    flags.keeps_nan = opcode.take("NaN");
    flags.product_sign = opcode.take("xorsign") && opcode.take("abs");
    if (flags.round != exec::nearest) return b.refuse();
    decode_by_table(b, name + "." + std::string(type.text()), flags);
}

// Handles .f32 and .f64. `extended` selects the table's .ex forms, which support directed rounding
// and saturation.
void float_arithmetic(Builder& b, const std::string& name, Word type, bool flush, bool extended,
                      RealFlags flags) {
    std::string rest;
    static constexpr Word kept[] = {"approx", "full", "NaN", "xorsign", "abs"};
    for (const Word word : kept) {
        if (!b.opcode().take(word)) continue;
        rest += '.';
        rest += word.text();
    }
    if (extended) {
        if (!rest.empty()) return b.refuse();
        flags.flush |= flush;
        return decode_by_table(b, name + ".ex." + std::string(type.text()), flags);
    }
    const std::string ftz = flush ? ".ftz" : "";
    if (type == "f64") return decode_by_table(b, name + rest + ftz + ".f64", flags);
    // Keys have .approx and .full before .ftz, but .2pi, .NaN and .xorsign after it.
    const bool leads = rest == ".approx" || rest == ".full";
    const std::string cycles = b.opcode().take("2pi") ? ".2pi" : "";
    decode_by_table(b, name + (leads ? rest + ftz : ftz + rest) + cycles + ".f32", flags);
}

constexpr Meaning<exec::NarrowFormat> narrow_formats[] = {
    {"e4m3x4", exec::NarrowFormat::e4m3},  {"e5m2x4", exec::NarrowFormat::e5m2},
    {"e3m2x4", exec::NarrowFormat::e3m2},  {"e2m3x4", exec::NarrowFormat::e2m3},
    {"e2m1x4", exec::NarrowFormat::e2m1},  {"e2m1p4x4", exec::NarrowFormat::e2m1_in_bytes},
    {"ue8m0x4", exec::NarrowFormat::ue8m0}};

const Meaning<exec::NarrowFormat>* narrow_format(Word type) {
    const auto* const found =
        std::ranges::find(narrow_formats, type, &Meaning<exec::NarrowFormat>::word);
    return found != std::end(narrow_formats) ? found : nullptr;
}

// add, sub, mul and fma of four numbers with at most 8 bits: d and c have the first type.
void narrow_arithmetic(Builder& b) {
    const auto& words = b.instruction().reading->words;
    const std::string name(b.opcode().name().text());
    const std::size_t types = b.operand_count() - (name == "mul" ? 0 : 1);
    const auto given = std::span(words).last(types);
    exec::NarrowFlags flags{.result = narrow_format(given[0])->value,
                            .a = narrow_format(given[1])->value,
                            .b = narrow_format(given[types > 2 ? 2 : 0])->value,
                            .finite = b.opcode().take("satfinite")};
    b.opcode().take_all();
    const Destination to = b.destination(b.operand(0), 'w');
    std::array<Slot, 5> slots;
    slots.fill(no_slot);
    slots[0] = to.slot;
    for (u32 k = 1; k < b.operand_count() && !b.refused(); ++k) {
        const bool is_short = k < types && given[k] == "e2m1x4";
        slots[k] = b.source(b.operand(k), is_short ? 'h' : 'w');
        if (!is_short || b.refused()) continue;
        const Slot narrow = slots[k];
        slots[k] = b.temporary('w');
        b.emit_row("cvt.u32.u16", {slots[k], narrow});
    }
    if (b.refused()) return;
    const OpRow* const row = find_op(name + ".narrow.x4");
    if (row == nullptr) return b.refuse();
    b.emit(row->operation(), {slots[0], slots[1], slots[2], slots[3], slots[4]}).flags = flags;
    b.write_back(to);
}

// add, sub, mul, fma and similar for every type.
void arithmetic(Builder& b) {
    Opcode& opcode = b.opcode();
    const Word type = opcode.take_last();
    if (narrow_format(type) != nullptr) return narrow_arithmetic(b);
    if (!is_real(type)) {
        if (opcode.take("cc")) return carry_arithmetic(b);
        return decode_by_table(b);
    }
    RealFlags flags;
    flags.round = take_rounding(opcode);
    const bool flush = opcode.take("ftz");
    flags.saturate = opcode.take("sat");
    const bool extended = flags != RealFlags{};
    flags.relu = opcode.take("relu");
    flags.outside = opcode.take("oob");
    const Word base = opcode.name() == "mad" ? Word("fma") : opcode.name();
    const std::string name(base.text());
    if ((base == "min" || base == "max") && b.operand_count() == 4)
        return extreme_of_three(b, name, flush, flags);
    if (opcode.count() > 2 && is_real(opcode.peek(opcode.count() - 2))) {
        if (opcode.peek(opcode.count() - 2).text().ends_with("x2"))
            return packed_mixed_arithmetic(b, name, flags);
        return mixed_arithmetic(b, name, type, flags);
    }
    if (type == "f32x2") {
        flags.flush = extended && flush;
        const std::string_view form = extended ? ".ex.f32" : flush ? ".ftz.f32" : ".f32";
        return paired_arithmetic(b, name + std::string(form), flags);
    }
    if (is_half(type)) return half_arithmetic(b, name, type, flush, flags);
    float_arithmetic(b, name, type, flush, extended, flags);
}

constexpr OpcodeDecoder arithmetic_decoders[] = {
    {"add", arithmetic},        {"sub", arithmetic},           {"mul", arithmetic},
    {"fma", arithmetic},        {"mad", arithmetic},           {"div", arithmetic},
    {"min", arithmetic},        {"max", arithmetic},           {"abs", arithmetic},
    {"neg", arithmetic},        {"sqrt", arithmetic},          {"rcp", arithmetic},
    {"rsqrt", arithmetic},      {"ex2", arithmetic},           {"lg2", arithmetic},
    {"sin", arithmetic},        {"cos", arithmetic},           {"tanh", arithmetic},
    {"copysign", arithmetic},   {"addc", carry_arithmetic},    {"subc", carry_arithmetic},
    {"madc", carry_arithmetic}, {"spdecompress", spdecompress}};

}  // namespace

OpcodeDecoders arithmetic_opcodes() noexcept {
    return arithmetic_decoders;
}

}  // namespace lode::emulator::decode
