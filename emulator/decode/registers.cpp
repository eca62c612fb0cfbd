#include "emulator/decode/registers.hpp"

#include "base/align_up.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/decode/live_ranges.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

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

/// The slot of a kernel's parameter that a load of a type reads into a register of `bytes`;
/// no_slot if the register can't be an alias of it.
Slot parameter_source(Builder& b, const ptx::Operand& from, ptx::Type type, u8 bytes) {
    if (!b.function().entry || !from.address || from.kind != OperandKind::variable) return no_slot;
    const auto place = b.frame().entry_offset(from.index);
    if (!place) return no_slot;
    const u32 read = type.bytes;
    const u64 size = b.function().variables[from.index].bytes;
    if (read == 0 || read > bytes || read > size || from.bits > size - read) return no_slot;
    return b.build().parameter_slot(*place + static_cast<u32>(from.bits), read, bytes,
                                    type.kind == ptx::Class::signed_integer);
}

/// The register at the end of a chain of copies.
u32 original_of(const std::vector<u32>& originals, u32 index) {
    while (originals[index] != index)
        index = originals[index];
    return index;
}

/// Whether `copy`, made at `at` of the value that a register gets at `made`, is read only while the
/// register still has that value.
bool holds_until_read(const FlowGraph& graph, u32 made, u32 at, u32 copy) {
    if (!graph.in_loop(made)) return true;
    const auto between = [&](u32 reader) { return made <= reader && reader < at; };
    return made < at && graph.block_of(made) == graph.block_of(at) &&
           std::ranges::none_of(graph.readers(copy), between);
}

/// Sets the slots of aliases. Returns, by register, itself or the register whose slot it uses,
/// which cvta of a global address made it of.
std::vector<u32> find_aliases(Builder& b, std::vector<Slot>& slots) {
    std::vector<u32> originals(slots.size());
    std::iota(originals.begin(), originals.end(), u32{0});
    const ptx::Function& function = b.function();
    for (const ptx::Instruction& instruction : function.instructions) {
        if (instruction.count < 2 || instruction.guard >= 0) continue;
        const ptx::Operand& to = function.operands[instruction.first];
        const ptx::Operand& from = function.operands[instruction.first + 1];
        if (to.kind != OperandKind::reg || !b.graph().only_writer(to.index)) continue;
        const u8 bytes = function.registers[to.index].bytes;
        if (bytes == 0) continue;
        b.begin(instruction);
        const ptx::Traits& traits = instruction.traits;
        const ptx::Type type = instruction.reading->types[0];
        if (traits.effect == ptx::Effect::move && bytes == type.bytes) {
            slots[to.index] = fixed_source(b, from, bytes);
        } else if (traits.effect == ptx::Effect::load && traits.space == ptx::Space::param) {
            slots[to.index] = parameter_source(b, from, type, bytes);
        } else if (instruction.reading->name() == "cvta" && traits.space == ptx::Space::global) {
            if (from.kind != OperandKind::reg || bytes != 8 ||
                function.registers[from.index].bytes != 8)
                continue;
            const u32 original = original_of(originals, from.index);
            const auto made = b.graph().only_writer(original);
            // In unreachable code, registers may form a cycle.
            if (original != to.index && made &&
                holds_until_read(b.graph(), *made, b.position(), to.index))
                originals[to.index] = original;
        }
    }
    for (u32& original : originals)
        original = original_of(originals, original);
    return originals;
}

/// Hands out numbered places of registers of one size, those that were given back last first.
class Places {
public:
    [[nodiscard]] u32 take() {
        if (free_.empty()) return count_++;
        const u32 place = free_.back();
        free_.pop_back();
        return place;
    }
    void give(u32 place) { free_.push_back(place); }
    [[nodiscard]] u32 count() const noexcept { return count_; }

private:
    std::vector<u32> free_;
    u32 count_ = 0;
};

/// The sizes of registers in bytes, in the order of their places in the frame; 0 is a predicate.
constexpr std::array<u8, 6> register_sizes = {16, 8, 4, 2, 1, 0};
constexpr u32 row_bytes_of(u8 bytes) {
    return bytes == 0 ? 4 : bytes * lanes;
}

/// Places the registers whose slot is `unplaced` in the frame. Registers of one size whose ranges
/// don't overlap share a slot, so that a slot always has values of one size.
void place_registers(const ptx::Function& function, std::span<const LiveRange> ranges, Frame& frame,
                     Slot unplaced, std::vector<Slot>& slots) {
    const std::size_t instructions = std::max<std::size_t>(function.instructions.size(), 1);
    std::vector<std::pair<u32, u32>> starts;
    std::vector<std::pair<u32, u32>> ends;
    for (u32 k = 0; k < slots.size(); ++k) {
        if (slots[k] != unplaced) continue;
        const bool named = ranges[k].first <= ranges[k].last;
        starts.emplace_back(named ? ranges[k].first : 0, k);
        ends.emplace_back(named ? ranges[k].last : 0, k);
    }
    const Lists starting(instructions, starts);
    const Lists ending(instructions, ends);
    std::array<Places, register_sizes.size()> places;
    const auto size_of = [&](u32 reg) {
        return static_cast<std::size_t>(
            std::ranges::find(register_sizes, function.registers[reg].bytes) -
            register_sizes.begin());
    };
    std::vector<u32> place(slots.size());
    for (u32 at = 0; at < instructions; ++at) {
        for (const u32 reg : starting[at])
            place[reg] = places[size_of(reg)].take();
        for (const u32 reg : ending[at])
            places[size_of(reg)].give(place[reg]);
    }
    constexpr u32 alignment = 64;
    frame.align(alignment);
    std::array<Slot, register_sizes.size()> first{};
    for (std::size_t size = 0; size < first.size(); ++size)
        first[size] = frame.allocate(places[size].count() * row_bytes_of(register_sizes[size]));
    frame.align(alignment);
    for (u32 k = 0; k < slots.size(); ++k) {
        if (slots[k] != unplaced) continue;
        const std::size_t size = size_of(k);
        slots[k] = first[size] + place[k] * row_bytes_of(register_sizes[size]);
    }
}

}  // namespace

void allocate_registers(Builder& b, const std::vector<bool>& keep) {
    const ptx::Function& function = b.function();
    const u64 count = function.registers.size();
    constexpr u64 widest = u64{16} * lanes;
    if (b.frame().bytes() + count * widest > max_frame_bytes)
        return b.refuse_function(fmt::format("{} registers in use", count));
    std::vector<Slot> slots(count, no_slot);
    const std::vector<u32> originals = find_aliases(b, slots);
    // What has no slot will be in the frame, which is all that the search for indices needs to
    // know.
    constexpr Slot unplaced = slot(Area::frame, offset_mask);
    std::ranges::replace(slots, no_slot, unplaced);
    for (u32 k = 0; k < count; ++k)
        slots[k] = slots[originals[k]];
    b.frame().set_registers(slots);
    Indexing indexing;
    if (b.build().module->shares_slots) indexing = find_indexed_accesses(b.graph(), b.frame());
    const auto last = static_cast<u32>(std::max<std::size_t>(function.instructions.size(), 1)) - 1;
    const LiveRange everywhere{0, last};
    std::vector<LiveRange> ranges(count, everywhere);
    if (b.build().module->shares_slots) {
        ranges = live_ranges(b.graph(), indexing);
        for (u32 k = 0; k < count; ++k)
            ranges[originals[k]].include(keep[k] ? everywhere : ranges[k]);
    }
    for (const ptx::RegisterParameter& one : function.register_parameters)
        ranges[one.reg] = everywhere;
    for (u32 k = 0; k < count; ++k)
        if (originals[k] != k) slots[k] = no_slot;
    place_registers(function, ranges, b.frame(), unplaced, slots);
    for (u32 k = 0; k < count; ++k)
        slots[k] = slots[originals[k]];
    b.frame().set_registers(std::move(slots));
    b.set_indexing(std::move(indexing));
}

}  // namespace lode::emulator::decode
