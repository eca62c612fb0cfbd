#include "emulator/decode/copies.hpp"

#include "emulator/isa/load_store.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace lode::emulator::decode {

namespace {

using ptx::Operand;
using ptx::OperandKind;

/// Whether a load or store accesses memory whose bytes may be unwritten.
bool accesses_memory(const ptx::Instruction& one, ptx::Effect effect) {
    return one.traits.effect == effect && one.traits.space != ptx::Space::param;
}

bool is_load(const ptx::Instruction& one) {
    return accesses_memory(one, ptx::Effect::load);
}

bool is_store(const ptx::Instruction& one) {
    return one.count == 2 && accesses_memory(one, ptx::Effect::store);
}

/// A move of a whole register to another one.
bool is_copy(const ptx::Function& function, const ptx::Instruction& one) {
    if (one.traits.effect != ptx::Effect::move) return false;
    const auto operands = function.operands_of(one);
    const auto is_whole = [](const Operand& operand) {
        return operand.kind == OperandKind::reg && operand.selector.empty() && !operand.is_element;
    };
    return std::ranges::all_of(operands, is_whole) &&
           function.registers[operands[0].index].bytes ==
               function.registers[operands[1].index].bytes;
}

/// Calls f with the registers of each move, the one set first; again once a call has returned true,
/// which means that the second register, or forward the first, has changed.
template <class F>
void follow_copies(const FlowGraph& graph, Worklist::Direction direction, F&& f) {
    const ptx::Function& function = graph.function();
    Worklist worklist(graph, direction);
    while (const auto at = worklist.next()) {
        const ptx::Instruction& one = function.instructions[*at];
        if (!is_copy(function, one)) continue;
        const auto operands = function.operands_of(one);
        const u32 to = operands[0].index;
        const u32 from = operands[1].index;
        if (f(to, from)) worklist.changed(direction == Worklist::Direction::forward ? to : from);
    }
}

bool is_argument(const ptx::Instruction& one) {
    return one.traits.effect == ptx::Effect::store && one.traits.space == ptx::Space::param;
}

/// Registers whose values are only stored, or moved to such registers.
std::vector<bool> only_stored(const FlowGraph& graph) {
    const ptx::Function& function = graph.function();
    constexpr u8 stored = 1;
    constexpr u8 used = 2;
    std::vector<u8> uses(function.registers.size());
    const auto mark = [&](const Operand& operand, u8 use) {
        each_register(function, operand, [&](u32 reg) { uses[reg] |= use; });
    };
    for (const ptx::RegisterParameter& one : function.register_parameters)
        uses[one.reg] = used;
    for (const ptx::Instruction& one : function.instructions) {
        if (is_copy(function, one)) continue;
        const auto operands = function.operands_of(one);
        // Arguments and results are passed with their padding, whose marks go no further.
        if (is_store(one) || (is_argument(one) && one.reading->has("b8"))) {
            mark(operands[0], used);
            mark(operands[1], stored);
            continue;
        }
        for (const Operand& operand : function.sources_of(one))
            mark(operand, used);
    }
    follow_copies(graph, Worklist::Direction::backward, [&](u32 to, u32 from) {
        const u8 before = uses[from];
        uses[from] |= uses[to];
        return uses[from] != before;
    });
    std::vector<bool> found(uses.size());
    for (std::size_t reg = 0; reg < uses.size(); ++reg)
        found[reg] = uses[reg] == stored;
    return found;
}

/// Finds loads that may be of padding.
class PaddingFinder {
public:
    explicit PaddingFinder(const FlowGraph& graph)
        : graph_(graph),
          function_(graph.function()),
          in_structure_(function_.registers.size()),
          counts_(function_.registers.size()),
          walks_(function_.registers.size()) {}

    std::vector<bool> run() {
        find_accesses();
        find_stored();
        find_walks();
        std::vector<bool> found;
        for (const ptx::Instruction& one : function_.instructions)
            found.push_back(is_load(one) && may_be_padding(one));
        return found;
    }

private:
    /// What an address is made of, and the offset.
    using Place = std::tuple<OperandKind, u32, std::string_view, u64>;

    [[nodiscard]] Place place(const ptx::Instruction& one, bool end) const {
        const auto operands = function_.operands_of(one);
        const bool loads = is_load(one);
        const Operand& at = operands[loads ? 1 : 0];
        const Operand& data = operands[loads ? 0 : 1];
        const u32 count = data.kind == OperandKind::list ? data.count : 1;
        const u64 bytes = end ? u64{count} * element_bytes(one) : 0;
        return {at.kind, at.index, at.name, at.bits + bytes};
    }
    [[nodiscard]] static u32 element_bytes(const ptx::Instruction& one) {
        return one.reading->types[0].bytes;
    }
    [[nodiscard]] bool has_neighbour(const ptx::Instruction& one) const {
        return ends_.contains(place(one, false)) || begins_.contains(place(one, true));
    }

    void find_accesses() {
        for (const ptx::Instruction& one : function_.instructions) {
            if (!is_load(one) && !is_store(one) && !is_argument(one)) continue;
            begins_.insert(place(one, false));
            ends_.insert(place(one, true));
        }
    }
    void find_stored() {
        for (const ptx::Instruction& one : function_.instructions) {
            if ((!is_store(one) && !is_argument(one)) || !has_neighbour(one)) continue;
            each_register(function_, function_.operands_of(one)[1],
                          [&](u32 reg) { in_structure_[reg] = true; });
        }
        follow_copies(graph_, Worklist::Direction::backward, [&](u32 to, u32 from) {
            if (!in_structure_[to] || in_structure_[from]) return false;
            in_structure_[from] = true;
            return true;
        });
    }
    /// Registers that count by one, and sums of them.
    void find_walks() {
        for (const bool sums : {false, true}) {
            for (const ptx::Instruction& one : function_.instructions) {
                if (one.reading->name() != "add") continue;
                const auto operands = function_.operands_of(one);
                const auto is_reg = [](const Operand& operand) {
                    return operand.kind == OperandKind::reg;
                };
                if (!is_reg(operands[0])) continue;
                if (!sums && is_reg(operands[1]) && operands[1].index == operands[0].index &&
                    operands[2].kind == OperandKind::integer && operands[2].bits == 1) {
                    counts_[operands[0].index] = walks_[operands[0].index] = true;
                }
                for (const Operand& from : operands.subspan(1))
                    if (sums && is_reg(from) && counts_[from.index])
                        walks_[operands[0].index] = true;
            }
        }
    }
    [[nodiscard]] bool may_be_padding(const ptx::Instruction& one) const {
        const auto operands = function_.operands_of(one);
        bool found = has_neighbour(one);
        each_register(function_, operands[0],
                      [&](u32 reg) { found = found || in_structure_[reg]; });
        return found || (element_bytes(one) == 1 && operands[1].kind == OperandKind::reg &&
                         walks_[operands[1].index]);
    }

    const FlowGraph& graph_;
    const ptx::Function& function_;
    std::set<Place> begins_;
    std::set<Place> ends_;
    std::vector<bool> in_structure_;  ///< Registers that are stored beside others.
    std::vector<bool> counts_;
    std::vector<bool> walks_;
};

}  // namespace

std::vector<bool> padding_loads(const FlowGraph& graph) {
    return PaddingFinder(graph).run();
}

std::vector<bool> copied_registers(const FlowGraph& graph) {
    const ptx::Function& function = graph.function();
    const std::vector<bool> stored = only_stored(graph);
    std::vector<bool> copied(function.registers.size());
    for (const ptx::Instruction& one : function.instructions) {
        if (!is_load(one)) continue;
        each_register(function, function.operands_of(one).front(),
                      [&](u32 reg) { copied[reg] = stored[reg]; });
    }
    follow_copies(graph, Worklist::Direction::forward, [&](u32 to, u32 from) {
        if (!stored[to] || copied[to] || !copied[from]) return false;
        copied[to] = true;
        return true;
    });
    return copied;
}

void note_copies(Builder& b) {
    const ptx::Function& function = b.function();
    const ptx::Instruction& one = b.instruction();
    if (is_load(one)) return;
    const auto operands = function.operands_of(one);
    if (is_copy(function, one)) {
        if (!b.is_copied(operands[0])) return;
        const Slot from = b.is_copied(operands[1]) ? b.frame().reg(operands[1].index) : no_slot;
        b.emit(Operation::copy_marks, {b.frame().reg(operands[0].index), from});
        return;
    }
    for (const Operand& result : function.results_of(one)) {
        for (const Operand& to : b.list(result))
            if (b.is_copied(to)) b.emit(Operation::copy_marks, {b.frame().reg(to.index), no_slot});
    }
}

}  // namespace lode::emulator::decode
