// Operations on matrices in the registers of a warp.
#include "emulator/isa/tensor.hpp"

#include "emulator/decode/fragments.hpp"
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/decode/instructions/tensor.hpp"

#include <charconv>

namespace lode::emulator::decode {

using exec::Element;
using exec::Fragment;

namespace {

/// The sizes of "m16n8k16".
std::optional<MatrixSizes> sizes_named(std::string_view word) {
    MatrixSizes sizes;
    u32* const fields[] = {&sizes.m, &sizes.n, &sizes.k};
    constexpr std::string_view letters = "mnk";
    for (std::size_t i = 0; i < letters.size(); ++i) {
        if (word.empty()) break;
        if (word.front() != letters[i]) return std::nullopt;
        word.remove_prefix(1);
        const auto [end, error] =
            std::from_chars(word.data(), word.data() + word.size(), *fields[i]);
        if (error != std::errc{}) return std::nullopt;
        word.remove_prefix(static_cast<std::size_t>(end - word.data()));
    }
    if (!word.empty() || sizes.m == 0 || sizes.n == 0) return std::nullopt;
    return sizes;
}

}  // namespace

std::optional<MatrixSizes> take_sizes(Opcode& opcode) {
    for (u32 k = 1; k < opcode.count(); ++k) {
        if (const auto sizes = sizes_named(opcode.peek(k).text())) {
            opcode.take(k);
            return sizes;
        }
    }
    return std::nullopt;
}

std::optional<Element> element_named(Word word) {
    static constexpr Meaning<Element> names[] = {
        {"f16", Element::f16},   {"bf16", Element::bf16}, {"tf32", Element::tf32},
        {"f32", Element::f32},   {"f64", Element::f64},   {"e4m3", Element::e4m3},
        {"e5m2", Element::e5m2}, {"e2m3", Element::e2m3}, {"e3m2", Element::e3m2},
        {"e2m1", Element::e2m1}, {"s8", Element::s8},     {"u8", Element::u8},
        {"s4", Element::s4},     {"u4", Element::u4},     {"b1", Element::b1},
        {"s32", Element::s32}};
    for (const auto& [name, element] : names) {
        if (name == word) return element;
    }
    return std::nullopt;
}

std::vector<Element> take_elements(Opcode& opcode) {
    std::vector<Element> elements;
    for (u32 k = 1; k < opcode.count(); ++k) {
        const auto element = element_named(opcode.peek(k));
        if (!element) continue;
        elements.push_back(*element);
        opcode.take(k);
    }
    return elements;
}

std::vector<bool> take_layouts(Opcode& opcode) {
    std::vector<bool> by_columns;
    for (u32 k = 1; k < opcode.count(); ++k) {
        if (opcode.peek(k) != "row" && opcode.peek(k) != "col") continue;
        by_columns.push_back(opcode.take(k) == "col");
    }
    return by_columns;
}

Slot all_lanes_slot(Builder& b) {
    return b.constant(all_lanes, 4);
}

bool fill_fragment(Builder& b, const ptx::Operand& operand, Fragment& fragment, bool writes) {
    const auto list = b.list(operand);
    if (list.size() != fragment.slots.size()) {
        b.refuse("with a fragment of the wrong size");
        return false;
    }
    const char letter = fragment.element == Element::f64 ? 'd' : 'w';
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!writes) {
            fragment.slots[i] = b.source(list[i], letter);
        } else if (list[i].kind != ptx::OperandKind::sink) {
            const Destination to = b.destination(list[i], letter);
            if (to.reg != no_slot) b.refuse("with registers of another size");
            fragment.slots[i] = to.slot;
        }
    }
    return !b.refused();
}

namespace {

void move_matrices(Builder& b, bool stores) {
    Opcode& opcode = b.opcode();
    opcode.ignore({"sync", "aligned", "b16"});
    const bool wide = opcode.take("m16n16");  // Two registers for a matrix.
    const bool bytes = wide || opcode.take("m16n8");
    if (bytes) {
        opcode.ignore({"b8", "trans"});
    } else if (!opcode.take("m8n8") && !opcode.take("m8n16")) {
        return b.refuse();
    }
    const u32 count = opcode.take("x1") ? 1 : opcode.take("x2") ? 2 : 4;
    opcode.take("x4");
    exec::MatrixFlags flags;
    flags.count = static_cast<u8>(count);
    flags.transposed = opcode.take("trans");
    flags.of_6_bits = opcode.take("b6x16_p32");
    flags.of_4_bits = opcode.take("b4x16_p64");
    flags.of_4_signed_bits = opcode.take("s4");
    opcode.ignore({"b8x16", "s8"});
    const ptx::Operand& place = b.operand(stores ? 0 : 1);
    const bool shared = take_space(b, place) == exec::MemorySpace::shared;
    const auto list = b.list(b.operand(stores ? 1 : 0));
    if (list.size() != (wide ? 2 * count : count))
        return b.refuse("with a list of the wrong length");
    std::array<Slot, 4> slots;
    slots.fill(no_slot);
    for (std::size_t k = 0; k < list.size(); ++k) {
        if (list[k].kind == ptx::OperandKind::sink) continue;
        slots[k] = stores ? b.source(list[k], 'w') : b.destination(list[k], 'w').slot;
    }
    const LaneAddresses address = lane_addresses(b, place, shared);
    const Slot members = all_lanes_slot(b);
    if (b.refused()) return;
    const Operation of_bytes =
        stores ? Operation::store_byte_matrices : Operation::load_byte_matrices;
    const Operation of_halves = stores ? Operation::store_matrices : Operation::load_matrices;
    Op& op = b.emit_access(bytes ? of_bytes : of_halves, {slots[0], slots[1], slots[2], slots[3],
                                                          address.slot, no_slot, no_slot, members});
    op.imm = address.offset;
    op.flags = flags;
    op.addressing = address.addressing;
}

void load_matrices(Builder& b) {
    move_matrices(b, false);
}
void store_matrices(Builder& b) {
    move_matrices(b, true);
}

void transpose_matrix(Builder& b) {
    b.opcode().ignore({"sync", "aligned", "m8n8", "trans", "b16"});
    const Slot to = b.destination(b.operand(0), 'w').slot;
    const Slot from = b.source(b.operand(1), 'w');
    const Slot members = all_lanes_slot(b);
    if (b.refused()) return;
    b.emit(Operation::transpose_matrix,
           {to, from, no_slot, no_slot, no_slot, no_slot, no_slot, members});
}

constexpr OpcodeDecoder tensor_decoders[] = {
    {"ldmatrix", load_matrices}, {"stmatrix", store_matrices}, {"movmatrix", transpose_matrix},
    {"mma", multiply_matrices},  {"wmma", warp_matrices},      {"wgmma", warpgroup_matrices},
    {"tcgen05", tensor_memory}};

}  // namespace

OpcodeDecoders tensor_opcodes() noexcept {
    return tensor_decoders;
}

}  // namespace lode::emulator::decode
