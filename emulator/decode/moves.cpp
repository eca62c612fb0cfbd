// Moves, packing, address conversions and selections.
#include "emulator/decode/decoder.hpp"
#include "emulator/decode/ops/real.hpp"

#include <algorithm>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

bool is_signed(std::string_view type) {
    return !type.empty() && type[0] == 's';
}

}  // namespace

void Decoder::move() {
    const std::string_view type = parts_.take_last();
    const ptx::Operand& to = operand(0);
    const ptx::Operand& from = operand(1);
    if (type == "pred") return row_with_key("mov.pred");
    if (const u32 vector = take_vector(); vector > 1) return move_vector(vector, type);
    if (to.kind == OperandKind::list) return pack_or_unpack(false);
    if (from.kind == OperandKind::list) return pack_or_unpack(true);
    const u32 bytes = ptx::type_named(type).bytes;
    if (bytes == 0) return refuse();
    const char letter = letter_of_bytes(bytes);
    if (to.kind == OperandKind::reg && (slots_[to.index] >> area_shift) != 0) return;  // an alias
    const Target target = target_of(to, letter, is_signed(type));
    const Slot a = source_of(from, letter, is_signed(type));
    if (refusal_) return;
    static constexpr std::string_view keys[] = {"mov.b8", "mov.b16", "mov.b32", "mov.b64",
                                                "mov.b128"};
    emit_row(keys[std::countr_zero(bytes)], {target.written, a});
    settle(target);
}

// mov.v2, mov.v4: every part is read before one is written, as they may be the same registers.
void Decoder::move_vector(u32 vector, std::string_view type) {
    const u32 bytes = ptx::type_named(type).bytes;
    const char letter = letter_of_bytes(bytes);
    const auto to = list(operand(0));
    std::array<ptx::Operand, 4> from;
    std::array<std::string, 4> names;
    if (operand(1).kind == OperandKind::special) {
        static constexpr std::string_view ends[] = {".x", ".y", ".z", ".w"};
        for (u32 k = 0; k < vector; ++k) {
            from[k].kind = OperandKind::special;
            names[k] = std::string(operand(1).name) + std::string(ends[k]);
            from[k].name = names[k];
        }
    } else {
        const auto given = list(operand(1));
        if (given.size() != vector) return refuse("with a vector of another length");
        std::ranges::copy(given, from.begin());
    }
    if (to.size() != vector) return refuse("with a vector of another length");
    static constexpr std::string_view keys[] = {"mov.b8", "mov.b16", "mov.b32", "mov.b64"};
    const std::string_view key = keys[std::countr_zero(bytes)];
    std::array<Slot, 4> held;
    for (u32 k = 0; k < vector; ++k) {
        const Slot source = source_of(from[k], letter);
        if (refusal_) return;
        held[k] = temporary(letter);
        emit_row(key, {held[k], source});
    }
    for (u32 k = 0; k < vector; ++k) {
        if (to[k].kind == OperandKind::sink) continue;
        const Target target = target_of(to[k], letter);
        if (refusal_) return;
        emit_row(key, {target.written, held[k]});
        settle(target);
    }
}

void Decoder::pack_or_unpack(bool pack) {
    const u32 bytes = ptx::type_named(parts_.take_last()).bytes;
    const ptx::Operand& packed = operand(pack ? 1 : 0);
    const auto items = list(packed);
    if (bytes == 0 || items.empty() || bytes % items.size() != 0) return refuse();
    const u32 each = bytes / static_cast<u32>(items.size());
    const char whole = letter_of_bytes(bytes);
    const char part = letter_of_bytes(each);
    const std::string key = std::string(pack ? "pack." : "unpack.") + whole + "." + part;
    const OpRow* const row = find_op(key);
    if (row == nullptr) return refuse();
    std::array<Slot, 8> slots;
    slots.fill(no_slot);
    if (pack) {
        const Target target = target_of(operand(0), whole);
        slots[0] = target.written;
        for (u32 k = 0; k < items.size(); ++k)
            slots[k + 1] = source_of(items[k], part);
        if (refusal_) return;
        emit(row->run, {slots[0], slots[1], slots[2], slots[3], slots[4]});
        return settle(target);
    }
    const auto count = static_cast<u32>(items.size());
    std::vector<Target> targets;
    slots[count] = source_of(operand(1), whole);
    for (u32 k = 0; k < count; ++k) {
        targets.push_back(items[k].kind == OperandKind::sink ? Target{}
                                                             : target_of(items[k], part));
        slots[k] = targets.back().written;
    }
    if (refusal_) return;
    emit(row->run, {slots[0], slots[1], slots[2], slots[3], slots[4]},
         static_cast<u8>((1u << count) - 1));
    for (const Target& target : targets)
        settle(target);
}

// cvta: the windows of shared, local and parameter addresses are tags; the rest are moves.
void Decoder::address_conversion() {
    const bool to_space = parts_.take("to");
    const std::string_view space = parts_.take(to_space ? 2 : 1);
    const u32 bytes = ptx::type_named(parts_.take_last()).bytes;
    if (bytes != 8) return refuse("with 32-bit addresses");
    const ptx::Operand& to = operand(0);
    const bool global = space.starts_with("global") || space.starts_with("const");
    if (global && to.kind == OperandKind::reg && (slots_[to.index] >> area_shift) != 0) return;
    if (global && to.kind == OperandKind::reg && operand(1).kind == OperandKind::reg &&
        slots_[to.index] == slots_[operand(1).index]) {
        return;
    }
    const Target target = target_of(to, 'd');
    const Slot a = source_of(operand(1), 'd');
    if (refusal_) return;
    if (global) {
        emit_row("mov.b64", {target.written, a});
    } else {
        Window window = Window::shared;
        if (space.starts_with("local")) window = Window::local;
        if (space.starts_with("param")) window = Window::param;
        emit_row(to_space ? "sub.u64" : "add.u64",
                 {target.written, a, constant(window_tag(window), 8)});
    }
    settle(target);
}

void Decoder::slct() {
    std::string key = "slct.";
    key += parts_.take(parts_.count() - 2);
    key += '.';
    key += parts_.take_last();
    row_with_key(key, parts_.take("ftz") ? u16{exec::flush_flag} : u16{0});
}

void Decoder::test_property() {
    static constexpr std::string_view names[] = {"finite",     "infinite", "number",
                                                 "notanumber", "normal",   "subnormal"};
    const auto at = std::ranges::find(names, parts_.take(1));
    if (at == std::end(names)) return refuse();
    row_with_key("testp." + std::string(parts_.take_last()),
                 static_cast<u16>(at - std::begin(names)));
}

}  // namespace lode::emulator::decode
