#include "emulator/decode/pointer_origins.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace lode::emulator::decode {

namespace {

using ptx::Operand;
using ptx::OperandKind;

// What a register may hold, beside the offset of a parameter.
constexpr u32 nothing = ~u32{0} - 2;  ///< It hasn't been written.
constexpr u32 number = ~u32{0} - 1;
constexpr u32 unknown = no_parameter_offset;

constexpr bool is_parameter(u32 value) {
    return value < nothing;
}

/// Either value.
constexpr u32 either(u32 a, u32 b) {
    if (a == nothing || a == b) return b;
    return b == nothing ? a : unknown;
}

/// A value made of both, for example their product.
constexpr u32 mixed(u32 a, u32 b) {
    if (a == nothing || b == nothing) return nothing;
    return a == number && b == number ? number : unknown;
}

constexpr u32 sum(u32 a, u32 b) {
    if (a == nothing || b == nothing) return nothing;
    if (b == number) return a;
    return a == number ? b : unknown;
}

constexpr u32 difference(u32 a, u32 b) {
    return a != nothing && b == number ? a : mixed(a, b);
}

class Origins {
public:
    Origins(const Frame& frame, const FlowGraph& graph)
        : frame_(frame),
          function_(graph.function()),
          values_(function_.registers.size(), nothing),
          worklist_(graph, Worklist::Direction::forward) {}

    std::vector<u32> run() {
        while (const auto at = worklist_.next())
            take(function_.instructions[*at]);
        for (u32& value : values_) {
            if (!is_parameter(value)) value = no_parameter_offset;
        }
        return std::move(values_);
    }

private:
    void put_register(u32 index, u32 value) {
        const u32 now = either(values_[index], value);
        if (now != values_[index]) worklist_.changed(index);
        values_[index] = now;
    }
    void put(const Operand& to, u32 value) {
        if (to.kind == OperandKind::reg) put_register(to.index, value);
        if (to.kind != OperandKind::list) return;
        for (const Operand& one : function_.elements_of(to))
            put(one, value);
    }

    [[nodiscard]] u32 value(const Operand& from) const {
        switch (from.kind) {
            case OperandKind::reg:
            case OperandKind::sum:
                return values_[from.index];
            case OperandKind::integer:
            case OperandKind::real32:
            case OperandKind::real64:
            case OperandKind::special:
                return number;
            default:
                return unknown;
        }
    }

    void take(const ptx::Instruction& instruction) {
        const auto results = function_.results_of(instruction);
        if (results.empty()) return;
        const auto operands = function_.operands_of(instruction);
        const ptx::Word name = instruction.reading->name();
        const ptx::Type type = instruction.reading->types[0];
        const Operand& to = results.front();
        if (to.pair >= 0) put_register(static_cast<u32>(to.pair), unknown);
        for (const Operand& other : results.subspan(1))
            put(other, unknown);
        using enum ptx::Effect;
        const ptx::Effect effect = instruction.traits.effect;
        if (effect == load || effect == atomic) return take_load(instruction, operands);
        const bool whole = type.bytes == 8 && type.kind != ptx::Class::other;
        if (to.kind == OperandKind::list) return put(to, unknown);
        if ((effect == move && whole) || name == "cvta") return put(to, value(operands[1]));
        if (name == "add" && whole) return put(to, sum(value(operands[1]), value(operands[2])));
        if (name == "sub" && whole)
            return put(to, difference(value(operands[1]), value(operands[2])));
        if (name == "mad" && operands.size() == 4) {
            const u32 product = mixed(value(operands[1]), value(operands[2]));
            return put(to, sum(product, value(operands[3])));
        }
        if (name == "selp") return put(to, either(value(operands[1]), value(operands[2])));
        u32 all = number;
        for (const Operand& each : function_.sources_of(instruction))
            all = mixed(all, value(each));
        put(to, all);
    }

    void take_load(const ptx::Instruction& one, std::span<const Operand> operands) {
        const u32 bytes = one.reading->types[0].bytes;
        const Operand& from = operands[1];
        const bool has_place =
            one.traits.effect == ptx::Effect::load && one.traits.space == ptx::Space::param &&
            from.kind == OperandKind::variable && frame_.entry_offset(from.index).has_value();
        if (!has_place || bytes != 8) return put(operands.front(), bytes < 8 ? number : unknown);
        auto offset = *frame_.entry_offset(from.index) + static_cast<u32>(from.bits);
        if (operands.front().kind != OperandKind::list) return put(operands.front(), offset);
        for (const Operand& one : function_.elements_of(operands.front())) {
            put(one, offset);
            offset += bytes;
        }
    }

    const Frame& frame_;
    const ptx::Function& function_;
    std::vector<u32> values_;
    Worklist worklist_;
};

}  // namespace

std::vector<u32> written_parameters(const ptx::Function& function,
                                    const std::vector<u32>& origins) {
    std::vector<u32> written;
    for (const ptx::Instruction& each : function.instructions) {
        if (!each.traits.writes_global) continue;
        using enum ptx::Effect;
        const ptx::Effect effect = each.traits.effect;
        const bool is_plain = effect == store || effect == atomic || effect == reduce;
        u32 parameter = no_parameter_offset;
        for (const Operand& operand : function.operands_of(each)) {
            if (is_plain && operand.address && operand.kind == OperandKind::reg && !origins.empty())
                parameter = origins[operand.index];
        }
        if (std::ranges::find(written, parameter) == written.end()) written.push_back(parameter);
    }
    return written;
}

std::vector<u32> pointer_origins(const Frame& frame, const FlowGraph& graph) {
    if (!graph.function().entry) return {};
    return Origins(frame, graph).run();
}

}  // namespace lode::emulator::decode
