#include "emulator/decode/registers.hpp"

#include "base/align_up.hpp"
#include "emulator/decode/limits.hpp"

#include <unordered_map>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

/// How often each register is written: 0, 1, or 2 for more than once.
std::vector<u8> count_definitions(const Builder& b) {
    const ptx::Function& function = b.function();
    std::vector<u8> definitions(function.registers.size());
    // The call writes these; they have their own places.
    for (const ptx::RegisterParameter& one : function.register_parameters)
        definitions[one.first] = 2;
    const auto define = [&](u32 index) {
        if (definitions[index] < 2) ++definitions[index];
    };
    for (const ptx::Instruction& instruction : function.instructions) {
        if (instruction.count == 0) continue;
        for (const ptx::Operand& to : b.list(function.operands[instruction.first])) {
            if (to.kind == OperandKind::reg && !to.address) define(to.index);
            if (to.pair >= 0) define(static_cast<u32>(to.pair));
        }
    }
    return definitions;
}

/// The slot of a mov's source if it is fixed: a number, an address that is known when decoding, or
/// a special register that doesn't change; otherwise no_slot.
Slot fixed_source(Builder& b, const ptx::Operand& from, u32 bytes) {
    const bool number = from.kind == OperandKind::integer || from.kind == OperandKind::real32 ||
                        from.kind == OperandKind::real64;
    const bool address = (from.kind == OperandKind::symbol || from.kind == OperandKind::variable) &&
                         b.known_address(from).has_value();
    const bool special = from.kind == OperandKind::special && bytes == 4 &&
                         !from.name.starts_with("%clock") && !from.name.starts_with("%globaltimer");
    if (!number && !address && !special) return no_slot;
    const Slot made = b.source(from, letter_of_bytes(bytes));
    return made >> area_shift != static_cast<u32>(Area::frame) ? made : no_slot;
}

/// The slot of a kernel's parameter that `ld.param.<type>` reads into a register of `bytes`;
/// no_slot if the register can't be an alias of it.
Slot parameter_source(Builder& b, const ptx::Operand& from, std::string_view type, u8 bytes) {
    if (!b.function().entry || !from.address || from.kind != OperandKind::variable) return no_slot;
    const auto place = b.frame().entry_offset(from.index);
    if (!place) return no_slot;
    const u32 read = ptx::type_named(type).bytes;
    const u64 size = b.function().variables[from.index].bytes;
    if (read == 0 || read > bytes || read > size || from.bits > size - read) return no_slot;
    return b.build().parameter_slot(*place + static_cast<u32>(from.bits), read, bytes,
                                    type.starts_with('s'));
}

/// Registers that are copies of others, made by cvta of global addresses.
class Copies {
public:
    void add(u32 copy, u32 original) {
        // In unreachable code, registers may form a cycle.
        if (original_of(original) != copy) originals_[copy] = original;
    }
    [[nodiscard]] bool contains(u32 index) const { return originals_.contains(index); }
    /// The register at the end of the chain of copies.
    [[nodiscard]] u32 original_of(u32 index) const {
        for (auto at = originals_.find(index); at != originals_.end(); at = originals_.find(index))
            index = at->second;
        return index;
    }
    void give_slots(std::vector<Slot>& slots) const {
        for (const auto& [copy, original] : originals_)
            slots[copy] = slots[original_of(original)];
    }

private:
    std::unordered_map<u32, u32> originals_;
};

/// Sets the slots of aliases and returns the copies.
Copies find_aliases(Builder& b, std::vector<Slot>& slots) {
    Copies copies;
    const ptx::Function& function = b.function();
    const std::vector<u8> definitions = count_definitions(b);
    for (const ptx::Instruction& instruction : function.instructions) {
        if (instruction.count < 2 || instruction.guard >= 0) continue;
        const ptx::Operand& to = function.operands[instruction.first];
        const ptx::Operand& from = function.operands[instruction.first + 1];
        if (to.kind != OperandKind::reg || definitions[to.index] != 1) continue;
        const u8 bytes = function.registers[to.index].bytes;
        if (bytes == 0) continue;
        b.begin(instruction);
        const std::string_view opcode = instruction.opcode;
        if (opcode.starts_with("mov.") && bytes == ptx::type_named(opcode.substr(4)).bytes) {
            slots[to.index] = fixed_source(b, from, bytes);
        } else if (opcode.starts_with("ld.param.")) {
            slots[to.index] = parameter_source(b, from, opcode.substr(9), bytes);
        } else if (opcode == "cvta.to.global.u64" || opcode == "cvta.global.u64") {
            const bool is_copy = from.kind == OperandKind::reg && bytes == 8 &&
                                 definitions[from.index] == 1 &&
                                 function.registers[from.index].bytes == 8;
            if (is_copy) copies.add(to.index, from.index);
        }
    }
    return copies;
}

/// Places registers without a slot in the frame. Predicates are packed; what follows is aligned.
void place_registers(const ptx::Function& function, const Copies& copies, Frame& frame,
                     std::vector<Slot>& slots) {
    constexpr u32 alignment = 32;
    for (u32 k = 0; k < slots.size(); ++k) {
        if (slots[k] != no_slot || copies.contains(k)) continue;
        const u8 bytes = function.registers[k].bytes;
        slots[k] = frame.allocate(bytes == 0 ? 4 : align_up(bytes * lanes, alignment));
        if (bytes != 0) continue;
        if (k + 1 == slots.size() || function.registers[k + 1].bytes != 0) frame.align(alignment);
    }
    copies.give_slots(slots);
    frame.align(alignment);
}

}  // namespace

void allocate_registers(Builder& b) {
    const u64 count = b.function().registers.size();
    constexpr u64 widest = u64{16} * lanes;
    if (b.frame().bytes() + count * widest > max_frame_bytes)
        return b.refuse_function(fmt::format("{} registers in use", count));
    std::vector<Slot> slots(count, no_slot);
    const Copies copies = find_aliases(b, slots);
    place_registers(b.function(), copies, b.frame(), slots);
    b.frame().set_registers(std::move(slots));
}

}  // namespace lode::emulator::decode
