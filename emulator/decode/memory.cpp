// Loads, stores and atomics.
#include "emulator/decode/decoder.hpp"
#include "emulator/decode/ops/atomic.hpp"
#include "emulator/decode/ops/control.hpp"
#include "emulator/decode/ops/load_store.hpp"

#include <algorithm>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

std::optional<exec::AtomicType> atomic_type(std::string_view type, bool bits128) {
    static constexpr std::pair<std::string_view, exec::AtomicType> names[] = {
        {"b16", exec::AtomicType::u16_},       {"u32", exec::AtomicType::u32_},
        {"b32", exec::AtomicType::u32_},       {"s32", exec::AtomicType::s32_},
        {"u64", exec::AtomicType::u64_},       {"b64", exec::AtomicType::u64_},
        {"s64", exec::AtomicType::s64_},       {"f16", exec::AtomicType::f16_},
        {"bf16", exec::AtomicType::bf16_},     {"f16x2", exec::AtomicType::f16x2_},
        {"bf16x2", exec::AtomicType::bf16x2_}, {"f32", exec::AtomicType::f32_},
        {"f64", exec::AtomicType::f64_}};
    for (const auto& [name, value] : names) {
        if (name == type) return value;
    }
    if (bits128 && type == "b128") return exec::AtomicType::b128_;
    return std::nullopt;
}

std::optional<exec::AtomicOp> atomic_operation(std::string_view name) {
    static constexpr std::pair<std::string_view, exec::AtomicOp> names[] = {
        {"add", exec::AtomicOp::add},   {"min", exec::AtomicOp::min},
        {"max", exec::AtomicOp::max},   {"inc", exec::AtomicOp::inc},
        {"dec", exec::AtomicOp::dec},   {"and", exec::AtomicOp::bit_and},
        {"or", exec::AtomicOp::bit_or}, {"xor", exec::AtomicOp::bit_xor},
        {"exch", exec::AtomicOp::exch}, {"cas", exec::AtomicOp::cas}};
    for (const auto& [text, value] : names) {
        if (text == name) return value;
    }
    return std::nullopt;
}

}  // namespace

u32 Decoder::take_vector() {
    if (parts_.take("v2")) return 2;
    if (parts_.take("v4")) return 4;
    return parts_.take("v8") ? 8 : 1;
}

exec::MemorySpace Decoder::take_space() {
    if (parts_.take("global") || parts_.take("const")) return exec::MemorySpace::global;
    if (parts_.take_prefix("shared")) return exec::MemorySpace::shared;
    if (parts_.take("local")) return exec::MemorySpace::local;
    return parts_.take_prefix("param") ? exec::MemorySpace::parameter : exec::MemorySpace::generic;
}

void Decoder::ignore_scope() {
    parts_.ignore({"cta", "cluster", "gpu", "sys"});
}

void Decoder::ignore_caches() {
    parts_.ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
    parts_.take_prefix("L1::");
    parts_.take_prefix("L2::");
}

void Decoder::load() {
    load_or_store(false);
}
void Decoder::store() {
    if (parts_.peek(1) == "bulk") return bulk();
    load_or_store(true);
}

void Decoder::load_or_store(bool store) {
    if (parts_.peek(1) == "async") return refuse();
    const std::string_view type = parts_.take_last();
    const u32 bytes = ptx::type_named(type).bytes;
    if (bytes == 0) return refuse();
    const exec::MemorySpace named = take_space();
    const bool parameter = named == exec::MemorySpace::parameter;
    exec::MemorySpace space = named;
    const u32 vector = take_vector();
    const bool ordered = parts_.take("acquire") || parts_.take("release") || parts_.take("sc");
    ignore_scope();
    ignore_caches();
    parts_.ignore({"weak", "volatile", "relaxed", "mmio", "nc"});
    const ptx::Operand& address = operand(store ? 0 : 1);
    if (!address.address && !address.is_element) return refuse("without an address in brackets");
    const auto data = list(operand(store ? 1 : 0));
    if (data.size() != vector) return refuse("with a vector of another length");
    if (parameter && address.kind == OperandKind::variable) {
        return parameter_access(store, address, type, data);
    }
    if (parameter && (store || !function_.entry)) {
        return refuse("with a computed address of a function's parameter");
    }
    // Addresses: a register plus an offset, or a number.
    Slot at = no_slot;
    u64 offset = 0;
    bool narrow = false;
    if (address.kind == OperandKind::reg) {
        offset = address.bits;
        const char have = letter_of(address.index);
        const bool windowed =
            space == exec::MemorySpace::shared || space == exec::MemorySpace::local;
        narrow = windowed && have == 'w';
        at = narrow ? slots_[address.index] : register_source(address.index, 'd', false);
    } else {
        at = source_of(address, 'd');
    }
    if (ordered && store) emit(&exec::fence, {}, 0);
    // Eight parts go as two ops of four.
    const u32 parts = std::min(vector, 4u);
    const Handler handler = memory_handler(space, store, bytes, parts, narrow);
    if (handler == nullptr) return refuse();
    const char letter = letter_of_bytes(bytes);
    const bool sign = type[0] == 's';
    for (u32 first = 0; first < vector; first += parts) {
        std::array<Slot, 5> slots;
        slots.fill(no_slot);
        std::array<Target, 4> targets;
        for (u32 k = 0; k < parts; ++k) {
            if (store) {
                slots[k] = source_of(data[first + k], letter, sign);
            } else {
                targets[k] = target_of(data[first + k], letter, sign);
                slots[k] = targets[k].written;
            }
        }
        slots[parts] = at;
        if (refusal_) return;
        Op& op = emit(handler, {slots[0], slots[1], slots[2], slots[3], slots[4]},
                      store ? u8{0} : static_cast<u8>((1u << parts) - 1));
        op.imm = offset + u64{first} * bytes;
        op.cache = bounds_slot();
        for (const Target& target : targets)
            settle(target);
    }
    if (ordered && !store) emit(&exec::fence, {}, 0);
}

// Parameters: of the kernel they are slots filled at launch; of functions they are rows.
void Decoder::parameter_access(bool store, const ptx::Operand& address, std::string_view type,
                               std::span<const ptx::Operand> data) {
    const u32 bytes = ptx::type_named(type).bytes;
    const bool sign = type[0] == 's';
    const char letter = letter_of_bytes(bytes);
    const u32 variable = address.index;
    if (function_.variables[variable].space != ptx::Space::param) {
        return refuse("with '" + std::string(address.name) + "', which isn't a parameter");
    }
    const auto size = static_cast<u64>(function_.variables[variable].bytes);
    const u64 moved = bytes * data.size();
    if (moved > size || address.bits > size - moved) {
        return refuse("past the end of the parameter " + std::string(address.name));
    }
    if (address.bits % bytes != 0) {
        return refuse("at an offset that isn't a multiple of its size");
    }
    for (u32 k = 0; k < data.size(); ++k) {
        const u32 offset = static_cast<u32>(address.bits) + k * bytes;
        if (!store && data[k].kind == OperandKind::sink) continue;
        if (entry_offsets_[variable] != ~u32{0}) {
            if (store) return refuse("to a kernel's parameter");
            if (data[k].kind != OperandKind::reg) return refuse();
            const Slot to = slots_[data[k].index];
            if (to >> area_shift != 0) continue;  // an alias of the parameter
            const char have = letter_of(data[k].index);
            const u32 place = entry_offsets_[variable] + offset;
            const u32 slot_bytes = bytes_of_letter(have);
            if (slot_bytes < bytes) return refuse("into a narrower register");
            const auto [at, fresh] = build_.parameter_slots.try_emplace(
                {place, bytes, slot_bytes, u32{sign}}, build_.kernel->launch_bytes);
            if (fresh) {
                build_.kernel->parameter_slots.push_back({place, static_cast<u8>(bytes),
                                                          static_cast<u8>(slot_bytes), sign,
                                                          build_.kernel->launch_bytes});
                build_.kernel->launch_bytes += (slot_bytes * lanes + 63) / 64 * 64;
            }
            static constexpr std::string_view keys[] = {"mov.b8", "mov.b16", "mov.b32", "mov.b64",
                                                        "mov.b128"};
            emit_row(keys[std::countr_zero(slot_bytes)], {to, slot(Area::launch, at->second)});
            continue;
        }
        const Slot row = rows_[variable] + offset / 4 * 128;
        if (store) {
            const Slot value = source_of(data[k], letter, sign);
            if (refusal_) return;
            Op& op = emit(&exec::store_row, {value, row}, 0);
            op.flags = static_cast<u16>(bytes);
            op.flags2 = static_cast<u16>(offset % 4);
        } else {
            const Target target = target_of(data[k], letter, sign);
            if (refusal_) return;
            Op& op = emit(&exec::load_row, {target.written, row});
            op.flags = static_cast<u16>(bytes);
            op.flags2 = static_cast<u16>(offset % 4);
            settle(target);
        }
    }
}

Slot Decoder::lane_addresses(const ptx::Operand& operand, bool shared, u16& flags2, u64& offset) {
    offset = 0;
    flags2 = static_cast<u16>(shared ? Window::shared : Window::code);
    if (operand.kind != OperandKind::reg) return source_of(operand, 'd');
    offset = operand.bits;
    if (shared && letter_of(operand.index) == 'w') {
        flags2 |= exec::atomic_narrow;
        return slots_[operand.index];
    }
    return register_source(operand.index, 'd', false);
}

Slot Decoder::whole_addresses(const ptx::Operand& operand) {
    if (operand.kind != OperandKind::reg) return source_of(operand, 'd');
    const Slot base = register_source(operand.index, 'd', false);
    if (operand.bits == 0) return base;
    const Slot sum = temporary('d');
    emit_row("add.u64", {sum, base, constant(operand.bits, 8)});
    return sum;
}

void Decoder::atomic() {
    const bool reduction = parts_.base() == "red";
    if (parts_.peek(1) == "async") return refuse();
    std::optional<exec::AtomicOp> what;
    for (u32 i = 1; i + 1 < parts_.count(); ++i) {
        const auto found = atomic_operation(parts_.peek(i));
        if (!found) continue;
        what = found;
        parts_.take(i);
    }
    const exec::MemorySpace space = take_space();
    const bool shared = space == exec::MemorySpace::shared;
    const bool global = space == exec::MemorySpace::global;
    const u32 vector = take_vector();
    const std::string_view type_name = parts_.take_last();
    // Atomics are whole and in order here, for every scope; sums of halves never flush.
    parts_.ignore({"relaxed", "acquire", "release", "acq_rel", "noftz"});
    ignore_scope();
    ignore_caches();
    const bool exchanges = what == exec::AtomicOp::exch || what == exec::AtomicOp::cas;
    const auto type = atomic_type(type_name, exchanges);
    if (!what || !type) return refuse();
    const u32 address_at = reduction ? 0 : 1;
    u16 flags2 = 0;
    u64 offset = 0;
    const Slot at = lane_addresses(operand(address_at), shared, flags2, offset);
    if (global) {
        flags2 = static_cast<u16>((flags2 & ~exec::atomic_window_mask) |
                                  static_cast<u16>(Window::global));
    }
    if (*type == exec::AtomicType::f32_ && *what == exec::AtomicOp::add) {
        // Global memory's unit flushes denormals; shared memory's doesn't.
        if (!shared) flags2 |= exec::atomic_flush;
    }
    const char letter = letter_of_bytes(exec::atomic_bytes(*type));
    const bool sign = type_name[0] == 's';
    const auto values = list(operand(address_at + 1));
    const auto results = list(operand(0));
    if (values.size() != vector || (!reduction && results.size() != vector))
        return refuse("with a vector of another length");
    for (u32 k = 0; k < vector; ++k) {
        const Slot b = source_of(values[k], letter, sign);
        const Slot e = *what == exec::AtomicOp::cas
                           ? source_of(operand(address_at + 2), letter, sign)
                           : no_slot;
        Target target;
        if (!reduction && results[k].kind != OperandKind::sink) {
            target = target_of(results[k], letter, sign);
        }
        if (refusal_) return;
        Op& op = emit(exec::atomic_handler(*type), {target.written, at, b, e}, reduction ? 0 : 1);
        op.flags = static_cast<u16>(*what);
        op.flags2 = flags2;
        op.imm = offset + u64{k} * exec::atomic_bytes(*type);
        op.cache = bounds_slot();
        settle(target);
    }
}

}  // namespace lode::emulator::decode
