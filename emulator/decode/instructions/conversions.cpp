// Conversions: cvt between types, cvta between address windows.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/real.hpp"

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

bool is_integer(Word type) {
    return is_signed(type) || (ptx::WordPrefix("u").matches(type) && type != "ue8m0x2");
}

/// The modifiers of a cvt.
struct Conversion {
    Word from, to;
    exec::RealFlags flags;
    bool to_whole = false;  ///< .rni, .rzi, .rmi or .rpi.
    bool directed = false;  ///< .rz, .rm or .rp.
    bool scaled = false;    ///< By the powers of two in a third operand.
};

Conversion take_conversion(Opcode& opcode) {
    Conversion made;
    made.from = opcode.take_last();
    made.to = opcode.take(opcode.count() - 2);
    made.flags.flush = opcode.take("ftz");
    made.flags.saturate = opcode.take("sat");
    made.flags.relu = opcode.take("relu");
    made.flags.finite = opcode.take("satfinite");
    made.scaled = opcode.take("scaled::n2::ue8m0");
    made.flags.ties_to_away = opcode.take("rna");
    made.flags.round = take_rounding(opcode);
    made.directed = made.flags.round != exec::nearest;
    static constexpr Word whole[] = {"rni", "rzi", "rmi", "rpi"};
    for (const Word word : whole) {
        if (!opcode.take(word)) continue;
        made.flags.round = rounding_of(word);
        made.to_whole = true;
    }
    if (is_real(made.from) && is_integer(made.to) && !made.to_whole) made.flags.round = exec::zero;
    return made;
}

/// The part of a row's key between "cvt." and the types.
std::string_view conversion_form(const Conversion& conversion, bool packs_two) {
    static constexpr std::string_view rounded[] = {"rni.", "rzi.", "rmi.", "rpi."};
    const auto& [from, to, flags, to_whole, directed, scaled] = conversion;
    if (scaled) return "scaled.";
    const bool extra = flags.flush || flags.saturate || flags.relu || flags.finite;
    if (is_real(from) && is_real(to)) {
        if (packs_two) return "";
        if (to == from && to_whole) return extra || is_half(to) ? "int.ex." : rounded[flags.round];
        return extra || directed ? "ex." : "";
    }
    if (is_real(from)) {
        if (!is_integer(to)) return "";  // The narrow formats.
        if (is_half(from)) return "int.";
        if (flags.flush && from == "f32") return "int.ftz.";
        return rounded[flags.round];
    }
    if (is_real(to)) return is_integer(from) && (extra || directed) ? "ex." : "";
    return flags.saturate ? "sat." : "";
}

void convert(Builder& b) {
    if (b.opcode().peek(1) == "pack") return decode_by_table(b);
    const Conversion conversion = take_conversion(b.opcode());
    std::string key = "cvt.";
    key += conversion_form(conversion, b.operand_count() == 3);
    key += conversion.to.text();
    key += '.';
    key += conversion.from.text();
    const OpRow* const row = find_op(key);
    if (row == nullptr) return b.refuse();
    const std::string_view letters(row->operands);
    const Destination to = b.destination(b.operand(0), letters[0], is_signed(conversion.to));
    const Slot first = b.source(b.operand(1), letters[1], is_signed(conversion.from));
    const Slot second = letters.size() == 3 ? b.source(b.operand(2), letters[2]) : no_slot;
    if (letters.size() != b.operand_count())
        return b.refuse("with " + std::to_string(b.operand_count()) + " operands");
    if (b.refused()) return;
    b.emit(row->operation(), {to.slot, first, second}).flags = conversion.flags;
    b.write_back(to);
}

// Shared, local and parameter addresses carry a window tag; the other spaces only need a move.
void convert_address(Builder& b) {
    const bool to_space = b.opcode().take("to");
    const ptx::Space space = ptx::space_of(b.opcode().take(to_space ? 2 : 1));
    b.opcode().take_last();
    if (b.instruction().reading->types[0].bytes != 8) return b.refuse("with 32-bit addresses");
    const ptx::Operand& to = b.operand(0);
    const ptx::Operand& from = b.operand(1);
    const bool global = space == ptx::Space::global || space == ptx::Space::constant;
    if (global && to.kind == OperandKind::reg) {
        if (b.frame().is_alias(to.index)) return;
        const bool same =
            from.kind == OperandKind::reg && b.frame().reg(to.index) == b.frame().reg(from.index);
        if (same) return;
    }
    const Destination destination = b.destination(to, 'd');
    const Slot address = b.source(from, 'd');
    if (b.refused()) return;
    if (global) {
        b.emit_row("mov.b64", {destination.slot, address});
    } else if (space == ptx::Space::local) {
        // A generic address of local memory also says whose it is.
        if (to_space) {
            b.emit_row("and.b64", {destination.slot, address, b.constant(0xffff'ffff, 8)});
        } else {
            b.emit(Operation::generic_local_address, {destination.slot, address});
        }
    } else {
        Window window = Window::shared;
        if (space == ptx::Space::param) window = Window::param;
        b.emit_row(to_space ? "sub.u64" : "add.u64",
                   {destination.slot, address, b.constant(window_tag(window), 8)});
    }
    b.write_back(destination);
}

constexpr OpcodeDecoder conversion_decoders[] = {{"cvt", convert}, {"cvta", convert_address}};

}  // namespace

OpcodeDecoders conversion_opcodes() noexcept {
    return conversion_decoders;
}

}  // namespace lode::emulator::decode
