#include "emulator/decode/uses.hpp"

#include <algorithm>
#include <span>

namespace lode::emulator::decode {

namespace {

using ptx::Operand;

class Uses {
public:
    explicit Uses(const FlowGraph& graph)
        : graph_(graph), function_(graph.function()), uses_(function_.registers.size()) {}

    std::vector<u8> run() {
        for (const ptx::RegisterParameter& one : function_.register_parameters)
            put(one.reg, use_any | use_decides);
        while (const auto at = worklist_.next())
            take(*at);
        return std::move(uses_);
    }

private:
    void put(u32 index, u8 bits) {
        const auto now = static_cast<u8>(uses_[index] | bits);
        if (now != uses_[index]) worklist_.changed(index);
        uses_[index] = now;
    }

    void mark(const Operand& operand, u8 bits) {
        each_register(function_, operand, [&](u32 index) { put(index, bits); });
    }

    void take(u32 at) {
        const ptx::Instruction& instruction = function_.instructions[at];
        const auto operands = function_.operands_of(instruction);
        const ptx::Traits& traits = instruction.traits;
        if (instruction.guard >= 0) put(static_cast<u32>(instruction.guard), use_any | use_decides);
        for (const Operand& operand : operands) {
            if (operand.address || operand.is_element) mark(operand, use_any | use_decides);
        }
        if (operands.empty()) return;
        if (traits.is_pure && !compares(operands))
            return pass_back(at, traits.effect == ptx::Effect::move);
        if (traits.effect == ptx::Effect::load) return;
        const bool is_plain = operands.size() == 2;
        if (traits.effect == ptx::Effect::store && is_plain && traits.space != ptx::Space::param)
            return mark(operands[1], stored_use(traits.space));
        if (traits.effect == ptx::Effect::reduce && is_plain) return mark(operands[1], use_any);
        if (traits.effect == ptx::Effect::atomic)
            return take_atomic(operands, instruction.reading->has("cas"));
        // setp, branches, calls, votes, and all that is rare.
        for (const Operand& operand : function_.sources_of(instruction))
            mark(operand, use_any | use_decides);
    }

    /// Whether it makes a predicate of numbers, which decides whatever becomes of it.
    [[nodiscard]] bool compares(std::span<const Operand> operands) const {
        const auto is_register = [&](const Operand& operand, bool predicate) {
            return operand.kind == ptx::OperandKind::reg &&
                   (function_.registers[operand.index].bytes == 0) == predicate;
        };
        return is_register(operands.front(), true) &&
               std::ranges::any_of(operands.subspan(1), [&](const Operand& operand) {
                   return is_register(operand, false);
               });
    }

    /// A reader of shared or local memory may decide by it; only results stay as they are.
    static u8 stored_use(ptx::Space space) {
        if (space == ptx::Space::global) return use_any;
        return space == ptx::Space::local ? use_any | use_decides : use_any | use_passed_on;
    }

    void take_atomic(std::span<const Operand> operands, bool swaps) {
        for (std::size_t k = 2; k < operands.size(); ++k)
            mark(operands[k], swaps && k == 2 ? use_any | use_expected : use_any);
    }

    void pass_back(u32 at, bool copies) {
        u8 result = use_any;
        graph_.each_result(at, [&](u32 index) { result |= uses_[index]; });
        if (!copies) result &= static_cast<u8>(~use_passed_on);
        graph_.each_source(at, [&](u32 index) { put(index, result); });
    }

    const FlowGraph& graph_;
    const ptx::Function& function_;
    std::vector<u8> uses_;
    Worklist worklist_{graph_, Worklist::Direction::backward};
};

}  // namespace

bool needs_uses(const ptx::Function& function) {
    return std::ranges::any_of(function.instructions, [](const ptx::Instruction& each) {
        const ptx::Effect effect = each.traits.effect;
        return effect == ptx::Effect::atomic ||
               (effect == ptx::Effect::load && each.reading->has("volatile"));
    });
}

std::vector<u8> register_uses(const FlowGraph& graph) {
    return Uses(graph).run();
}

}  // namespace lode::emulator::decode
