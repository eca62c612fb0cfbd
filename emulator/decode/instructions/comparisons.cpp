// Comparisons and tests of values: setp, set, slct, testp.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/real.hpp"
#include "emulator/isa/set.hpp"

#include <algorithm>
#include <optional>

namespace lode::emulator::decode {

using exec::Combination;

namespace {

/// In the order of exec::Comparison.
constexpr Word comparison_names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                     "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

std::optional<exec::Comparison> comparison_named(Word name) {
    const auto at = std::ranges::find(comparison_names, name);
    if (at == std::end(comparison_names)) return std::nullopt;
    return static_cast<exec::Comparison>(at - std::begin(comparison_names));
}

/// Takes the comparison; lo, ls, hi and hs are aliases of unsigned comparisons.
Word take_comparison(Opcode& opcode) {
    const Word name = opcode.take(1);
    if (name == "lo") return "lt";
    if (name == "ls") return "le";
    if (name == "hi") return "gt";
    if (name == "hs") return "ge";
    return name;
}

/// Takes the operator that combines a comparison with a predicate.
Combination take_combination(Opcode& opcode) {
    if (opcode.take("and")) return Combination::bit_and;
    if (opcode.take("or")) return Combination::bit_or;
    return opcode.take("xor") ? Combination::bit_xor : Combination::none;
}

/// The part of a key that names a comparison. Integer eq and ne have no sign; other integer
/// comparisons have the sign of the type.
std::string comparison_key(Word comparison, Word type, bool flush) {
    std::string key(comparison.text());
    key += '.';
    if (is_real(type)) {
        if (flush && (type == "f32" || type == "f16")) key += "ftz.";
        key += type.text();
        return key;
    }
    if (comparison != "eq" && comparison != "ne") key += is_signed(type) ? 's' : 'u';
    key += type.text().substr(1);
    return key;
}

void set_predicate(Builder& b) {
    Opcode& opcode = b.opcode();
    const Word type = opcode.take_last();
    const Word comparison = take_comparison(opcode);
    const Combination how = take_combination(opcode);
    const bool flush = opcode.take("ftz");
    const Slot second = b.second_destination(b.operand(0));
    const Destination first = b.destination(b.operand(0), 'p');
    const Slot other = how != Combination::none ? b.source(b.operand(3), 'p') : no_slot;
    if (type == "f16x2" || type == "bf16x2") {
        const auto condition = comparison_named(comparison);
        if (!condition) return b.refuse();
        const Slot left = b.source(b.operand(1), 'w');
        const Slot right = b.source(b.operand(2), 'w');
        if (b.refused()) return;
        return b.emit_row(
            "setp." + std::string(type.text()), {first.slot, left, right, other, second},
            exec::SetFlags{.comparison = *condition, .combination = how, .flush = flush});
    }
    const bool whole = how != Combination::none || second != no_slot;
    const std::string key = comparison_key(comparison, type, flush);
    const OpRow* const row = find_op((whole ? "setp.x." : "setp.") + key);
    if (row == nullptr) return b.refuse();
    const Slot left = b.source(b.operand(1), row->operands[1], is_signed(type));
    const Slot right = b.source(b.operand(2), row->operands[2], is_signed(type));
    if (b.refused()) return;
    b.emit(row->operation(), {first.slot, left, right, other, second}).flags = how;
    // A guard skips the comparison, but not the branch.
    if (!whole && b.instruction().guard < 0)
        b.set_last_comparison(find_op("setp.bra." + key)->operation());
}

void set_value(Builder& b) {
    Opcode& opcode = b.opcode();
    const Word from = opcode.take_last();
    const Word result = opcode.take(opcode.count() - 2);
    const auto condition = comparison_named(take_comparison(opcode));
    if (!condition) return b.refuse();
    const Combination how = take_combination(opcode);
    const OpRow* const row =
        find_op("set." + std::string(result.text()) + "." + std::string(from.text()));
    if (row == nullptr) return b.refuse();
    const Destination to = b.destination(b.operand(0), row->operands[0], is_signed(result));
    const Slot left = b.source(b.operand(1), row->operands[1], is_signed(from));
    const Slot right = b.source(b.operand(2), row->operands[2], is_signed(from));
    const Slot other = how != Combination::none ? b.source(b.operand(3), 'p') : no_slot;
    if (b.refused()) return;
    const exec::SetFlags flags{.comparison = *condition,
                               .combination = how,
                               .flush = opcode.take("ftz"),
                               .half_result = result == "f16" || result == "f16x2",
                               .bfloat_result = result == "bf16" || result == "bf16x2"};
    b.emit(row->operation(), {to.slot, left, right, other}).flags = flags;
    b.write_back(to);
}

void select_by_sign(Builder& b) {
    Opcode& opcode = b.opcode();
    std::string key = "slct.";
    key += opcode.take(opcode.count() - 2).text();
    key += '.';
    key += opcode.take_last().text();
    decode_by_table(b, key, exec::RealFlags{.flush = opcode.take("ftz")});
}

void test_property(Builder& b) {
    // In the order of exec::RealProperty.
    static constexpr Word names[] = {"finite",     "infinite", "number",
                                     "notanumber", "normal",   "subnormal"};
    const auto at = std::ranges::find(names, b.opcode().take(1));
    if (at == std::end(names)) return b.refuse();
    decode_by_table(b, "testp." + std::string(b.opcode().take_last().text()),
                    static_cast<exec::RealProperty>(at - std::begin(names)));
}

constexpr OpcodeDecoder comparison_decoders[] = {{"setp", set_predicate},
                                                 {"set", set_value},
                                                 {"slct", select_by_sign},
                                                 {"testp", test_property}};

}  // namespace

OpcodeDecoders comparison_opcodes() noexcept {
    return comparison_decoders;
}

}  // namespace lode::emulator::decode
