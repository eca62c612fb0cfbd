// Addresses of elements with a register as their index, made of instructions that add and multiply.
#include "emulator/decode/ptx/ast.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::ptx {
namespace {

class Expander {
public:
    explicit Expander(Function& function)
        : function_(function), old_(std::exchange(function.instructions, {})) {}

    void run() {
        std::vector<std::uint32_t> moved;
        for (const Instruction& each : old_) {
            moved.push_back(static_cast<std::uint32_t>(function_.instructions.size()));
            for (std::uint32_t k = 0; k < each.count; ++k)
                if (function_.operands[each.first + k].scale != 0) expand(each, each.first + k);
            function_.instructions.push_back(each);
        }
        moved.push_back(static_cast<std::uint32_t>(function_.instructions.size()));
        for (auto* const pool : {&function_.operands, &function_.elements})
            for (Operand& each : *pool)
                if (each.kind == OperandKind::label) each.index = moved[each.index];
        for (Table& table : function_.tables)
            for (std::uint32_t& target : table.instructions)
                target = moved[target];
    }

private:
    void expand(const Instruction& from, std::uint32_t place) {
        const Operand element = function_.operands[place];
        const Register index = function_.registers[element.count];
        const Operand offset = fresh(4, Class::unsigned_integer);
        const Operand wide = fresh(8, Class::unsigned_integer);
        const Operand base = fresh(8, Class::unsigned_integer);
        Operand old_index;
        old_index.kind = OperandKind::reg;
        old_index.index = element.count;
        add(from, conversion(index), {offset, old_index});
        if (element.bits != 0) add(from, "add.u32", {offset, offset, number(element.bits)});
        if (element.scale != 1) add(from, "mul.lo.u32", {offset, offset, number(element.scale)});
        Operand array = element;
        array.is_element = false;
        array.scale = 0;
        array.count = 0;
        array.bits = 0;
        add(from, "mov.u64", {base, array});
        add(from, "cvt.u64.u32", {wide, offset});
        add(from, "add.u64", {base, base, wide});
        const Effect effect = from.traits.effect;
        Operand& operand = function_.operands[place];
        operand = base;
        operand.address = effect == Effect::load || effect == Effect::store;
    }

    static std::string_view conversion(const Register& index) {
        const bool is_signed = index.kind == Class::signed_integer;
        switch (index.bytes) {
            case 1:
                return is_signed ? "cvt.s32.s8" : "cvt.u32.u8";
            case 2:
                return is_signed ? "cvt.s32.s16" : "cvt.u32.u16";
            default:
                return index.bytes == 8 ? "cvt.u32.u64" : "mov.b32";
        }
    }

    Operand fresh(std::uint8_t bytes, Class kind) {
        Operand made;
        made.kind = OperandKind::reg;
        made.index = static_cast<std::uint32_t>(function_.registers.size());
        function_.registers.push_back({bytes, kind, 1});
        return made;
    }

    static Operand number(std::uint64_t bits) {
        Operand made;
        made.kind = OperandKind::integer;
        made.bits = bits;
        return made;
    }

    void add(const Instruction& from, std::string_view opcode,
             std::initializer_list<Operand> operands) {
        Instruction made;
        made.opcode = opcode;
        made.first = static_cast<std::uint32_t>(function_.operands.size());
        made.count = static_cast<std::uint16_t>(operands.size());
        made.line = from.line;
        made.location = from.location;
        function_.operands.insert(function_.operands.end(), operands);
        function_.instructions.push_back(made);
    }

    Function& function_;
    const std::vector<Instruction> old_;
};

}  // namespace

bool expand_elements(Function& function) {
    const auto is_plain = [](const Operand& each) { return each.scale == 0; };
    if (std::ranges::all_of(function.operands, is_plain)) return false;
    Expander(function).run();
    return true;
}

}  // namespace lode::emulator::ptx
