#include "emulator/decode/copies.hpp"

#include "emulator/decode/opcode.hpp"
#include "emulator/decode/operand_registers.hpp"
#include "emulator/decode/ops/load_store.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace lode::emulator::decode {

namespace {

using ptx::Operand;
using ptx::OperandKind;

/// Whether a load or store accesses memory whose bytes may be unwritten.
bool accesses_memory(const ptx::Instruction& one, std::string_view name) {
    const std::string_view opcode = one.opcode;
    return name_of(opcode) == name && opcode.find(".param") == opcode.npos &&
           !opcode.starts_with("st.bulk") && !opcode.starts_with("st.async");
}

bool is_load(const ptx::Instruction& one) {
    return one.count >= 2 && (accesses_memory(one, "ld") || accesses_memory(one, "ldu"));
}

bool is_store(const ptx::Instruction& one) {
    return one.count == 2 && accesses_memory(one, "st");
}

/// A move of a whole register to another one.
bool is_copy(const ptx::Function& function, const ptx::Instruction& one) {
    if (one.count != 2 || name_of(one.opcode) != "mov") return false;
    const auto operands = function.operands_of(one);
    const auto is_whole = [](const Operand& operand) {
        return operand.kind == OperandKind::reg && operand.selector.empty() && !operand.is_element;
    };
    return std::ranges::all_of(operands, is_whole) &&
           function.registers[operands[0].index].bytes ==
               function.registers[operands[1].index].bytes;
}

bool has_result(const ptx::Instruction& one, const Operand& first) {
    const std::string_view name = name_of(one.opcode);
    return !first.address && !first.is_element && name != "st" && name != "red" &&
           one.opcode.find('.') != std::string_view::npos;
}

/// Registers whose values are only stored, or moved to such registers.
std::vector<bool> only_stored(const ptx::Function& function) {
    constexpr u8 stored = 1;
    constexpr u8 used = 2;
    std::vector<u8> uses(function.registers.size());
    const auto mark = [&](const Operand& operand, u8 use) {
        each_register(function, operand, [&](u32 reg) { uses[reg] |= use; });
    };
    for (const ptx::RegisterParameter& one : function.register_parameters)
        uses[one.first] = used;
    for (const ptx::Instruction& one : function.instructions) {
        if (one.count == 0 || is_copy(function, one)) continue;
        const auto operands = function.operands_of(one);
        if (is_store(one)) {
            mark(operands[0], used);
            mark(operands[1], stored);
            continue;
        }
        for (const Operand& operand : operands.subspan(has_result(one, operands[0]) ? 1 : 0))
            mark(operand, used);
    }
    for (bool changed = true; std::exchange(changed, false);) {
        for (const ptx::Instruction& one : function.instructions) {
            if (!is_copy(function, one)) continue;
            const auto operands = function.operands_of(one);
            const u8 to = uses[operands[0].index];
            u8& from = uses[operands[1].index];
            changed = changed || (to & ~from) != 0;
            from |= to;
        }
    }
    std::vector<bool> found(uses.size());
    for (std::size_t reg = 0; reg < uses.size(); ++reg)
        found[reg] = uses[reg] == stored;
    return found;
}

/// The address behind what a load or store accesses, or its first one.
using Place = std::tuple<OperandKind, u32, std::string_view, u64>;

Place place_of(const Operand& address, u64 offset) {
    return {address.kind, address.index, address.name, address.bits + offset};
}

u32 element_bytes(const ptx::Instruction& one) {
    return ptx::type_named(one.opcode.substr(one.opcode.rfind('.') + 1)).bytes;
}

}  // namespace

std::vector<bool> padding_loads(const ptx::Function& function) {
    std::vector<bool> found(function.instructions.size());
    const auto is_access = [](const ptx::Instruction& one) {
        return is_load(one) || is_store(one);
    };
    std::set<Place> ends;
    for (const ptx::Instruction& one : function.instructions) {
        if (!is_access(one)) continue;
        const auto operands = function.operands_of(one);
        const Operand& data = operands[is_load(one) ? 0 : 1];
        const u32 count = data.kind == OperandKind::list ? data.count : 1;
        ends.insert(place_of(operands[is_load(one) ? 1 : 0], u64{count} * element_bytes(one)));
    }
    for (std::size_t at = 0; at < found.size(); ++at) {
        const ptx::Instruction& one = function.instructions[at];
        found[at] = is_load(one) && element_bytes(one) == 1 &&
                    ends.contains(place_of(function.operands_of(one)[1], 0));
    }
    return found;
}

std::vector<bool> copied_registers(const ptx::Function& function) {
    const std::vector<bool> stored = only_stored(function);
    std::vector<bool> copied(function.registers.size());
    for (const ptx::Instruction& one : function.instructions) {
        if (!is_load(one)) continue;
        each_register(function, function.operands_of(one).front(),
                      [&](u32 reg) { copied[reg] = stored[reg]; });
    }
    for (bool changed = true; std::exchange(changed, false);) {
        for (const ptx::Instruction& one : function.instructions) {
            if (!is_copy(function, one)) continue;
            const auto operands = function.operands_of(one);
            const u32 to = operands[0].index;
            if (!stored[to] || copied[to] || !copied[operands[1].index]) continue;
            copied[to] = true;
            changed = true;
        }
    }
    return copied;
}

void note_copies(Builder& b) {
    const ptx::Function& function = b.function();
    const ptx::Instruction& one = b.instruction();
    if (one.count == 0 || is_load(one)) return;
    const auto operands = function.operands_of(one);
    if (is_copy(function, one)) {
        if (!b.is_copied(operands[0])) return;
        const Slot from = b.is_copied(operands[1]) ? b.frame().reg(operands[1].index) : no_slot;
        b.emit(&exec::copy_marks, {b.frame().reg(operands[0].index), from});
    } else if (has_result(one, operands[0])) {
        for (const Operand& to : b.list(operands[0]))
            if (b.is_copied(to)) b.emit(&exec::copy_marks, {b.frame().reg(to.index), no_slot});
    }
}

}  // namespace lode::emulator::decode
