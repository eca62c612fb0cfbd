// Loads, stores, parameters, fences, address queries and cache hints.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/decode/uses.hpp"
#include "emulator/isa/control.hpp"
#include "emulator/isa/load_store.hpp"

#include <algorithm>
#include <string>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

/// The data of a load or store: values of one type, and the list of registers.
struct Transfer {
    bool stores = false;
    u32 bytes = 0;  ///< Bytes per value.
    bool sign = false;
    std::span<const ptx::Operand> data;

    [[nodiscard]] char letter() const noexcept { return letter_of_bytes(bytes); }
};

/// A kernel's parameter is a slot that is filled at launch.
void load_entry_parameter(Builder& b, const Transfer& transfer, const ptx::Operand& to,
                          u32 offset) {
    if (transfer.stores) return b.refuse("to a kernel's parameter");
    if (to.kind != OperandKind::reg) return b.refuse();
    if (b.frame().is_alias(to.index)) return;
    const u32 slot_bytes = bytes_of_letter(b.frame().letter_of(to.index));
    if (slot_bytes < transfer.bytes) return b.refuse("into a narrower register");
    const Slot from = b.build().parameter_slot(offset, transfer.bytes, slot_bytes, transfer.sign);
    b.emit_row(move_key(slot_bytes), {b.frame().reg(to.index), from});
}

/// A parameter of a function or a call is in rows of the frame.
void access_row(Builder& b, const Transfer& transfer, const ptx::Operand& data, Slot row,
                u32 offset) {
    const auto emit = [&](Operation operation, Slot value) {
        Op& op = b.emit(operation, {value, row});
        op.flags = exec::RowFlags{static_cast<u8>(transfer.bytes), static_cast<u8>(offset % 4)};
    };
    if (transfer.stores) {
        const Slot value = b.source(data, transfer.letter(), transfer.sign);
        if (!b.refused()) emit(Operation::store_row, value);
        return;
    }
    const Destination to = b.destination(data, transfer.letter(), transfer.sign);
    if (b.refused()) return;
    emit(Operation::load_row, to.slot);
    b.write_back(to);
}

void access_parameter(Builder& b, const Transfer& transfer, const ptx::Operand& address) {
    const ptx::Variable& variable = b.function().variables[address.index];
    if (variable.space != ptx::Space::param)
        return b.refuse("with '" + std::string(address.name) + "', which isn't a parameter");
    const u64 moved = transfer.bytes * transfer.data.size();
    if (moved > variable.bytes || address.bits > variable.bytes - moved)
        return b.refuse("past the end of the parameter " + std::string(address.name));
    if (address.bits % transfer.bytes != 0)
        return b.refuse("at an offset that isn't a multiple of its size");
    const auto place = b.frame().entry_offset(address.index);
    u32 offset = static_cast<u32>(address.bits);
    for (const ptx::Operand& data : transfer.data) {
        const bool wanted = transfer.stores || data.kind != OperandKind::sink;
        if (wanted && place) {
            load_entry_parameter(b, transfer, data, *place + offset);
        } else if (wanted) {
            const Slot row = b.frame().rows(address.index).offset + offset / 4 * row_bytes;
            access_row(b, transfer, data, row, offset);
        }
        if (b.refused()) return;
        offset += transfer.bytes;
    }
}

/// A register plus an offset, or a constant address.
struct LoadAddress {
    Slot slot = no_slot;
    u64 offset = 0;
    bool narrow = false;  ///< The register has 32 bits; only for shared and local memory.
    const IndexedAddress* indexed = nullptr;  ///< If set, the register is an index.
};

LoadAddress load_address(Builder& b, const ptx::Operand& operand, exec::MemorySpace space) {
    LoadAddress made;
    if (operand.kind != OperandKind::reg) {
        made.slot = b.source(operand, 'd');
        return made;
    }
    if (const IndexedAddress* const indexed = b.indexed_address(); indexed != nullptr) {
        made.slot = b.frame().reg(indexed->index);
        made.offset = indexed->offset;
        made.indexed = indexed;
        return made;
    }
    const bool windowed = space == exec::MemorySpace::shared || space == exec::MemorySpace::local;
    made.offset = operand.bits;
    made.narrow = windowed && b.frame().letter_of(operand.index) == 'w';
    made.slot = made.narrow ? b.frame().reg(operand.index) : b.register_source(operand.index, 'd');
    return made;
}

/// Emits one op for up to four values, starting at value `first` of the instruction.
void emit_transfer(Builder& b, Operation operation, const Transfer& transfer,
                   const LoadAddress& address, u32 first, u32 count, MemoryOrder order) {
    std::array<Slot, 5> slots;
    slots.fill(no_slot);
    std::array<Destination, 4> to;
    exec::AccessFlags flags;
    u32 copies = 0;
    std::array<Slot, 4> marked;  // The registers of narrower values, whose marks the access has.
    marked.fill(no_slot);
    const bool has_room = count <= exec::most_marked;
    for (u32 k = 0; k < count; ++k) {
        const ptx::Operand& data = transfer.data[first + k];
        const bool is_copied = b.is_copied(data);
        copies |= u32{is_copied} << k;
        if (is_copied && has_room) marked[k] = b.frame().reg(data.index);
        if (transfer.stores) {
            slots[k] = b.source(data, transfer.letter(), transfer.sign);
            if (is_copied && !has_room && slots[k] != b.frame().reg(data.index))
                b.emit(Operation::copy_marks, {slots[k], b.frame().reg(data.index)});
        } else {
            to[k] = b.destination(data, transfer.letter(), transfer.sign);
            slots[k] = to[k].slot;
        }
    }
    slots[count] = address.slot;
    if (b.refused()) return;
    Op& op = b.emit_access(operation, {slots[0], slots[1], slots[2], slots[3], slots[4]});
    op.imm = address.offset + u64{first} * transfer.bytes;
    op.order = order;
    for (u32 k = 0; k < count; ++k) {
        if (marked[k] == no_slot || marked[k] == slots[k]) continue;
        flags.marks = true;
        op.r[count + 1 + k] = marked[k];
    }
    flags.padding = b.may_load_padding();
    if (address.indexed != nullptr) {
        op.r[exec::index_base_operand] = address.indexed->base;
        op.r[exec::index_scale_operand] = address.indexed->scale;
        flags.signed_index = address.indexed->sign;
    }
    flags.copies = copies & 15;
    op.flags = flags;
    for (u32 k = 0; k < count; ++k) {
        b.write_back(to[k]);
        if ((copies >> k & 1) != 0 && !has_room && to[k].reg != no_slot)
            b.emit(Operation::copy_marks, {to[k].reg, to[k].slot});
    }
}

/// What the race check is told of a load beyond its modifiers.
void add_uses(const Builder& b, const Transfer& transfer, bool is_volatile, MemoryOrder& order) {
    u8 uses = 0;
    for (const ptx::Operand& each : transfer.data)
        uses |= b.uses_of(each);
    const bool expected = (uses & use_expected) != 0;
    const bool decides = (uses & (use_decides | use_passed_on)) != 0;
    order.validated = expected && !is_volatile;
    order.data = is_volatile && !expected && !decides;
}

void load_or_store(Builder& b, bool stores) {
    Opcode& opcode = b.opcode();
    // st.async stores at once; to shared memory, it counts the bytes at an mbarrier.
    opcode.ignore({"async"});
    const bool counts = opcode.take("mbarrier::complete_tx::bytes");
    opcode.take_last();
    const ptx::Type type = b.instruction().reading->types[0];
    Transfer transfer;
    transfer.stores = stores;
    transfer.bytes = type.bytes;
    transfer.sign = is_signed(type);
    if (transfer.bytes == 0) return b.refuse();
    const ptx::Operand& address = b.operand(stores ? 0 : 1);
    const exec::MemorySpace space = take_space(b, address);
    const bool parameter = space == exec::MemorySpace::parameter;
    const u32 vector = take_vector(opcode);
    const bool is_volatile = b.instruction().reading->has("volatile");
    MemoryOrder order = take_order(opcode);
    opcode.ignore({"weak", "nc", "proxy::readonly"});
    if (!address.address && !address.is_element) return b.refuse("without an address in brackets");
    transfer.data = b.list(b.operand(stores ? 1 : 0));
    if (transfer.data.size() != vector) return b.refuse("with a vector of the wrong length");
    if (!stores) add_uses(b, transfer, is_volatile, order);
    if (parameter && address.kind == OperandKind::variable)
        return access_parameter(b, transfer, address);
    if (parameter && (stores || !b.function().entry))
        return b.refuse("with a computed address of a function's parameter");

    const LoadAddress from = load_address(b, address, space);
    const bool ordered = order.acquire || order.release;
    if (ordered && stores) b.emit(Operation::fence, {});
    // Eight values take two ops of four.
    const u32 count = std::min(vector, 4u);
    const exec::MemoryAccess access{.space = space,
                                    .form = from.indexed != nullptr ? exec::AddressForm::index
                                            : from.narrow           ? exec::AddressForm::narrow
                                                                    : exec::AddressForm::wide,
                                    .stores = stores,
                                    .bytes = transfer.bytes,
                                    .parts = count};
    if (!exec::exists(access)) return b.refuse();
    for (u32 first = 0; first < vector; first += count)
        emit_transfer(b, exec::operation_of(access), transfer, from, first, count, order);
    if (ordered && !stores) b.emit(Operation::fence, {});
    if (counts) emit_complete_bytes(b, b.operand(2), transfer.bytes * vector);
}

void load(Builder& b) {
    load_or_store(b, false);
}

// st.bulk stores zeros.
void store_bulk(Builder& b) {
    b.opcode().ignore({"bulk", "weak", "shared::cta"});
    const Slot to = whole_addresses(b, b.operand(0));
    const Slot size = b.source(b.operand(1), 'd');
    if (b.refused()) return;
    b.emit_access(Operation::store_bulk, {no_slot, to, size});
}

void store(Builder& b) {
    if (b.opcode().peek(1) == "bulk") return store_bulk(b);
    load_or_store(b, true);
}

// A single fence covers every ordering, scope and proxy; the order is for the race check.
void fence(Builder& b) {
    Opcode& opcode = b.opcode();
    MemoryOrder order;
    order.cta = opcode.take("cta");
    order.gpu = !order.cta;
    if (opcode.take_prefix("proxy")) {
        const bool async = opcode.take("async") || opcode.take_prefix("async::");
        order = {.proxy = async && !opcode.take("global")};
    }
    opcode.take_all();
    b.emit(Operation::fence, {}).order = order;
}

void is_space(Builder& b) {
    const Word word = b.opcode().take(1);
    const ptx::Space space = ptx::space_of(word);
    Window window = Window::global;
    if (space == ptx::Space::shared) window = Window::shared;
    if (space == ptx::Space::local) window = Window::local;
    if (space == ptx::Space::param) window = Window::param;
    const Destination to = b.destination(b.operand(0), 'p');
    const Slot address = b.source(b.operand(1), 'd');
    if (b.refused()) return;
    exec::SpaceFlags flags;
    flags.window = static_cast<u8>(window) & 15;
    flags.constants = space == ptx::Space::constant;
    flags.own = word == "shared" || word == "shared::cta";
    b.emit(Operation::is_space, {to.slot, address}).flags = flags;
}

// Cache policies are opaque and have no effect: there is no cache.
void create_policy(Builder& b) {
    if (b.opcode().take("fabric")) return b.refuse();
    b.opcode().take_all();
    const Destination to = b.destination(b.operand(0), 'd');
    if (b.refused()) return;
    b.emit_row("mov.b64", {to.slot, b.constant(0, 8)});
    b.write_back(to);
}

// Hints to caches and schedulers have no effect.
void advice(Builder& b) {
    b.opcode().take_all();
}

constexpr OpcodeDecoder memory_decoders[] = {{"ld", load},
                                             {"ldu", load},
                                             {"st", store},
                                             {"membar", fence},
                                             {"fence", fence},
                                             {"isspacep", is_space},
                                             {"prefetch", advice},
                                             {"prefetchu", advice},
                                             {"discard", advice},
                                             {"pmevent", advice},
                                             {"griddepcontrol", advice},
                                             {"trace", advice},
                                             {"setmaxnreg", advice},
                                             {"createpolicy", create_policy}};

}  // namespace

OpcodeDecoders memory_opcodes() noexcept {
    return memory_decoders;
}

}  // namespace lode::emulator::decode
