// mov: registers, addresses, special registers, vectors, packing and unpacking.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"

#include <algorithm>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

// mov.v2, mov.v4: reads every element before writing any, because the registers may overlap.
void move_vector(Builder& b, u32 vector, u32 bytes) {
    const char letter = letter_of_bytes(bytes);
    const auto to = b.list(b.operand(0));
    std::array<ptx::Operand, 4> from;
    std::array<std::string, 4> names;
    if (b.operand(1).kind == OperandKind::special) {
        static constexpr std::string_view ends[] = {".x", ".y", ".z", ".w"};
        for (u32 k = 0; k < vector; ++k) {
            from[k].kind = OperandKind::special;
            names[k] = std::string(b.operand(1).name) + std::string(ends[k]);
            from[k].name = names[k];
        }
    } else {
        const auto given = b.list(b.operand(1));
        if (given.size() != vector) return b.refuse("with a vector of the wrong length");
        std::ranges::copy(given, from.begin());
    }
    if (to.size() != vector) return b.refuse("with a vector of the wrong length");
    const std::string_view key = move_key(bytes);
    std::array<Slot, 4> held;
    for (u32 k = 0; k < vector; ++k) {
        const Slot value = b.source(from[k], letter);
        if (b.refused()) return;
        held[k] = b.temporary(letter);
        b.emit_row(key, {held[k], value});
    }
    for (u32 k = 0; k < vector; ++k) {
        if (to[k].kind == OperandKind::sink) continue;
        const Destination part = b.destination(to[k], letter);
        if (b.refused()) return;
        b.emit_row(key, {part.slot, held[k]});
        b.write_back(part);
    }
}

/// A value that is split over the registers of a list operand.
struct Packing {
    const OpRow* row = nullptr;
    std::span<const ptx::Operand> items;
    char whole = 0, part = 0;  ///< Size letters.
};

/// Finds the row named by `prefix` and the two letters; refuses if there is none.
Packing packing_of(Builder& b, std::string_view prefix, const ptx::Operand& packed) {
    Packing made;
    made.items = b.list(packed);
    const u32 bytes = b.instruction().reading->types[0].bytes;
    if (bytes != 0 && !made.items.empty() && bytes % made.items.size() == 0) {
        made.whole = letter_of_bytes(bytes);
        made.part = letter_of_bytes(bytes / static_cast<u32>(made.items.size()));
        made.row = find_op(std::string(prefix) + made.whole + "." + made.part);
    }
    if (made.row == nullptr) b.refuse();
    return made;
}

// mov.b64 %rd, {%r1, %r2}
void pack(Builder& b) {
    const Packing packing = packing_of(b, "pack.", b.operand(1));
    if (packing.row == nullptr) return;
    const Destination to = b.destination(b.operand(0), packing.whole);
    std::array<Slot, 5> slots;
    slots.fill(no_slot);
    slots[0] = to.slot;
    for (std::size_t k = 0; k < packing.items.size(); ++k)
        slots[k + 1] = b.source(packing.items[k], packing.part);
    if (b.refused()) return;
    b.emit(packing.row->operation(), {slots[0], slots[1], slots[2], slots[3], slots[4]});
    b.write_back(to);
}

// mov.b64 {%r1, %r2}, %rd
void unpack(Builder& b) {
    const Packing packing = packing_of(b, "unpack.", b.operand(0));
    if (packing.row == nullptr) return;
    const std::size_t count = packing.items.size();
    std::array<Slot, 5> slots;
    slots.fill(no_slot);
    slots[count] = b.source(b.operand(1), packing.whole);
    std::vector<Destination> parts;
    for (std::size_t k = 0; k < count; ++k) {
        const ptx::Operand& item = packing.items[k];
        const bool unwanted = item.kind == OperandKind::sink;
        parts.push_back(unwanted ? Destination{} : b.destination(item, packing.part));
        slots[k] = parts[k].slot;
    }
    if (b.refused()) return;
    b.emit(packing.row->operation(), {slots[0], slots[1], slots[2], slots[3], slots[4]});
    for (const Destination& part : parts)
        b.write_back(part);
}

void move(Builder& b) {
    b.opcode().take_last();
    const ptx::Type type = b.instruction().reading->types[0];
    const u32 bytes = type.bytes;
    const ptx::Operand& to = b.operand(0);
    const ptx::Operand& from = b.operand(1);
    if (type.kind == ptx::Class::predicate) return decode_by_table(b, "mov.pred");
    if (const u32 vector = take_vector(b.opcode()); vector > 1)
        return move_vector(b, vector, bytes);
    if (to.kind == OperandKind::list) return unpack(b);
    if (from.kind == OperandKind::list) return pack(b);
    if (bytes == 0) return b.refuse();
    if (to.kind == OperandKind::reg && b.frame().is_alias(to.index)) return;
    const char letter = letter_of_bytes(bytes);
    const Destination destination = b.destination(to, letter, is_signed(type));
    const Slot value = b.source(from, letter, is_signed(type));
    if (b.refused()) return;
    b.emit_row(move_key(bytes), {destination.slot, value});
    b.write_back(destination);
}

constexpr OpcodeDecoder move_decoders[] = {{"mov", move}};

}  // namespace

OpcodeDecoders move_opcodes() noexcept {
    return move_decoders;
}

}  // namespace lode::emulator::decode
