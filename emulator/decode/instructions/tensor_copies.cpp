// Tensor copies, and changes of tensor maps by kernels.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/tensor_copy.hpp"

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

/// Takes the way in which a copy visits the tensor.
void take_mode(Opcode& opcode, exec::TensorCopyFlags& flags) {
    static constexpr Meaning<TensorMode> modes[] = {{"im2col", TensorMode::im2col},
                                                    {"im2col_no_offs", TensorMode::im2col},
                                                    {"im2col::w", TensorMode::im2col_w},
                                                    {"im2col::w::128", TensorMode::im2col_w_128}};
    opcode.ignore({"tile"});
    flags.gathers = opcode.take("tile::gather4") || opcode.take("tile::scatter4");
    if (const auto* const mode = opcode.take_row(modes)) flags.mode = mode->value;
}

u32 take_axes(Opcode& opcode) {
    static constexpr Meaning<u32> axes[] = {{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}};
    const auto* const found = opcode.take_row(axes);
    return found != nullptr ? found->value : 0;
}

/// Emits the op that carries the coordinates and offsets.
void emit_operands(Builder& b, std::span<const ptx::Operand> coordinates,
                   std::span<const ptx::Operand> offsets) {
    std::array<Slot, 8> slots;
    slots.fill(no_slot);
    for (std::size_t k = 0; k < coordinates.size(); ++k)
        slots[k] = b.source(coordinates[k], 'w');
    for (std::size_t k = 0; k < offsets.size(); ++k)
        slots[5 + k] = b.source(offsets[k], 'h');
    if (b.refused()) return;
    b.emit(Operation::tensor_operands,
           {slots[0], slots[1], slots[2], slots[3], slots[4], slots[5], slots[6], slots[7]});
}

/// The map of [map, {coordinates}]. The address of a kernel's parameter is in the window of
/// parameters.
Slot map_address(Builder& b, const ptx::Operand& map) {
    const bool is_parameter =
        map.kind == OperandKind::variable && b.frame().entry_offset(map.index).has_value();
    if (!is_parameter) return whole_addresses(b, map);
    return b.constant(window_tag(Window::param) | *b.known_address(map), 8);
}

}  // namespace

// cp{.reduce}.async.bulk.tensor, cp.async.bulk.prefetch.tensor and applypriority.async.bulk.tensor.
// The operands are
//   loads:      [to], [map{, tensor}, {…}], [mbarrier]{, {offsets}}{, mask of blocks}{, policy}
//   stores:     [map{, tensor}, {…}], [from]{, policy}
//   prefetches: [map{, tensor}, {…}]{, {offsets}}{, policy}
// For im2col::w and im2col::w::128, {offsets} is {halo, offset}.
void copy_tensor(Builder& b) {
    using exec::TensorCopy;
    Opcode& opcode = b.opcode();
    opcode.ignore({"async", "bulk", "tensor", "global", "bulk_group", "L2", "L2::cache_hint",
                   "L2::evict_last", "L2::evict_normal", "mbarrier::complete_tx::bytes"});
    exec::TensorCopyFlags flags{.what = TensorCopy::store};
    if (opcode.take("prefetch") || opcode.name() == "applypriority")
        flags.what = TensorCopy::prefetch;
    if (opcode.take("reduce")) {
        flags.what = TensorCopy::reduce;
        const auto operation = take_operation(opcode);
        if (!operation) return b.refuse();
        flags.reduction = *operation;
    }
    const bool loads = b.operand(0).address && b.operand(0).kind != OperandKind::list;
    if (loads) flags.what = TensorCopy::load;
    if (take_report(opcode) && loads) return b.refuse(with_report);
    const bool overrides = opcode.take("override::global_address");
    if (opcode.take("override::global_dim") || opcode.take("override::global_dim_stride"))
        return b.refuse("with other sizes than the tensor map's");
    opcode.take_prefix("shared");
    const bool to_many = take_multicast(opcode);
    opcode.ignore({"cta_group::1"});
    flags.by_pair = opcode.take("cta_group::2");
    flags.axes = take_axes(opcode) & 7;
    take_mode(opcode, flags);
    if (flags.axes == 0) return b.refuse();

    u32 next = loads ? 1 : 0;
    const auto parts = b.list(b.operand(next++));
    if (parts.size() < 2) return b.refuse("without coordinates");
    const Slot map = map_address(b, parts[0]);
    const Slot tensor = overrides ? b.source(parts[1], 'd') : no_slot;
    const auto coordinates = b.list(parts.back());
    Slot shared = no_slot;
    Slot barrier = no_slot;
    if (loads) {
        shared = whole_addresses(b, b.operand(0));
        barrier = whole_addresses(b, b.operand(next++));
    } else if (flags.what != TensorCopy::prefetch) {
        shared = whole_addresses(b, b.operand(next++));
    }
    std::span<const ptx::Operand> offsets;
    if (b.operand(next).kind == OperandKind::list) offsets = b.list(b.operand(next++));
    const Slot blocks = to_many ? b.source(b.operand(next), 'h') : no_slot;
    emit_operands(b, coordinates, offsets);
    if (b.refused()) return;
    b.emit_access(Operation::copy_tensor, {no_slot, map, shared, barrier, blocks, tensor}).flags =
        flags;
}

namespace {

// tensormap.replace.tile.field{.space}.b1024.type [address], {ordinal,} value
void replace_field(Builder& b) {
    using exec::TensorField;
    static constexpr Meaning<TensorField> fields[] = {
        {"global_address", TensorField::global_address},
        {"rank", TensorField::rank},
        {"box_dim", TensorField::box_dim},
        {"global_dim", TensorField::global_dim},
        {"global_stride", TensorField::global_stride},
        {"element_stride", TensorField::element_stride},
        {"elemtype", TensorField::elemtype},
        {"interleave_layout", TensorField::interleave_layout},
        {"swizzle_mode", TensorField::swizzle_mode},
        {"swizzle_atomicity", TensorField::swizzle_atomicity},
        {"fill_mode", TensorField::fill_mode}};
    Opcode& opcode = b.opcode();
    opcode.ignore({"replace", "tile", "b1024"});
    const bool wide = opcode.take_last() == "b64";
    const auto* const field = opcode.take_row(fields);
    if (field == nullptr) return b.refuse();
    const exec::MemorySpace space = take_space(b, b.operand(0));
    const LaneAddresses address =
        lane_addresses(b, b.operand(0), space == exec::MemorySpace::shared);
    const bool ordered = b.operand_count() == 3;
    const u64 ordinal = ordered ? b.operand(1).bits : 0;
    const ptx::Operand& given = b.operand(b.operand_count() - 1);
    Slot value = b.source(given, wide ? 'd' : 'w');
    if (!wide) {
        const Slot narrow = value;
        value = b.temporary('d');
        b.emit_row("cvt.u64.u32", {value, narrow});
    }
    if (b.refused()) return;
    Op& op = b.emit_access(Operation::replace_tensor_field, {no_slot, address.slot, value});
    op.flags = exec::TensorFieldFlags{field->value, static_cast<u8>(ordinal)};
    op.addressing = address.addressing;
    op.imm = address.offset;
}

// tensormap.cp_fenceproxy.….sync.aligned [to], [from], 128
void copy_map(Builder& b) {
    b.opcode().take_all();
    const Slot to = whole_addresses(b, b.operand(0));
    const Slot from = whole_addresses(b, b.operand(1));
    if (b.operand(2).bits != 128) return b.refuse("of another size than 128 bytes");
    if (b.refused()) return;
    b.emit_access(Operation::copy_tensor_map, {no_slot, to, from});
}

void tensor_map(Builder& b) {
    if (b.opcode().peek(1) == "cp_fenceproxy") return copy_map(b);
    replace_field(b);
}

constexpr OpcodeDecoder tensor_copy_decoders[] = {{"tensormap", tensor_map}};

}  // namespace

OpcodeDecoders tensor_copy_opcodes() noexcept {
    return tensor_copy_decoders;
}

}  // namespace lode::emulator::decode
