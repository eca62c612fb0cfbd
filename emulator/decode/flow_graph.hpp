// FlowGraph: which instructions of a function may follow which, and which registers they read and
// write.
#pragma once

#include "emulator/decode/ptx/ast.hpp"
#include "emulator/isa/op.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lode::emulator::decode {

/// Calls f with each register that the operand names: itself, in its list, or after the bar of
/// d|p. Lists may be nested, as the coordinates of an image are.
template <class F>
void each_register(const ptx::Function& function, const ptx::Operand& operand, F&& f) {
    using ptx::OperandKind;
    if (operand.pair >= 0) f(static_cast<u32>(operand.pair));
    if (operand.kind == OperandKind::reg || operand.kind == OperandKind::sum) f(operand.index);
    if (operand.kind != OperandKind::list) return;
    for (const ptx::Operand& one : function.elements_of(operand))
        each_register(function, one, f);
}

/// Consecutive lists in one vector, by index.
class Lists {
public:
    /// `entries` are pairs of an index and a value; the values of an index keep their order.
    Lists(std::size_t count, std::span<const std::pair<u32, u32>> entries);
    [[nodiscard]] std::span<const u32> operator[](u32 index) const {
        return std::span(values_).subspan(begin_[index], begin_[index + 1] - begin_[index]);
    }

private:
    std::vector<u32> begin_;
    std::vector<u32> values_;
};

/// The control flow of a function, and the definitions and uses of its registers. Instructions,
/// registers and blocks are indices; lists of instructions ascend and may repeat one.
class FlowGraph {
public:
    /// The function has been validated, and outlives the graph.
    explicit FlowGraph(const ptx::Function& function);

    [[nodiscard]] const ptx::Function& function() const noexcept { return *function_; }
    [[nodiscard]] u32 instructions() const noexcept {
        return static_cast<u32>(function_->instructions.size());
    }

    /// The instructions that depend on what a register holds: as a source or a guard, or because
    /// they set it only in part, or only in some lanes.
    [[nodiscard]] std::span<const u32> readers(u32 reg) const { return readers_[reg]; }
    [[nodiscard]] std::span<const u32> writers(u32 reg) const { return writers_[reg]; }
    /// The instruction that alone sets a register, which isn't a parameter.
    [[nodiscard]] std::optional<u32> only_writer(u32 reg) const;
    /// Whether an instruction of [first, last) sets a register.
    [[nodiscard]] bool writes_between(u32 reg, u32 first, u32 last) const;
    template <class F>
    void each_source(u32 at, F&& f) const {
        for (const ptx::Operand& operand : function_->sources_of(function_->instructions[at]))
            each_register(*function_, operand, f);
    }
    template <class F>
    void each_result(u32 at, F&& f) const {
        for (const ptx::Operand& operand : function_->results_of(function_->instructions[at]))
            each_register(*function_, operand, f);
    }

    /// Whether a branch may lead to an instruction, or to the end.
    [[nodiscard]] bool is_label(u32 at) const { return is_label_[at]; }
    /// Whether a branch leads back over an instruction, from it or a later one.
    [[nodiscard]] bool in_loop(u32 at) const { return in_loop_[at]; }

    [[nodiscard]] u32 blocks() const noexcept { return static_cast<u32>(starts_.size()) - 1; }
    /// The first instruction of a block; for the number of blocks, the end.
    [[nodiscard]] u32 start(u32 block) const { return starts_[block]; }
    [[nodiscard]] u32 block_of(u32 at) const { return block_of_[at]; }
    [[nodiscard]] std::span<const u32> predecessors(u32 block) const {
        return predecessors_[block];
    }

private:
    using Pairs = std::vector<std::pair<u32, u32>>;
    [[nodiscard]] Pairs find_jumps() const;
    void find_loops(const Pairs& jumps);
    void find_blocks(const Pairs& jumps);
    [[nodiscard]] bool goes_on(u32 at) const;
    [[nodiscard]] Pairs edges(const Pairs& jumps) const;
    [[nodiscard]] Pairs reads() const;
    [[nodiscard]] Pairs writes() const;

    const ptx::Function* function_;
    Lists readers_, writers_;  ///< By register.
    std::vector<bool> is_parameter_;
    std::vector<bool> is_label_;
    std::vector<bool> in_loop_;
    std::vector<u32> starts_;
    std::vector<u32> block_of_;
    Lists predecessors_{0, {}};
};

/// The instructions that a pass has yet to look at: first all in the direction's order, then again
/// those that the changed value of a register concerns.
class Worklist {
public:
    enum class Direction : u8 {
        forward,   ///< A register's value concerns the instructions that read it.
        backward,  ///< It concerns those that write it.
    };
    Worklist(const FlowGraph& graph, Direction direction);

    void changed(u32 reg);
    /// Takes an instruction; nothing if there are none left.
    std::optional<u32> next();

private:
    const FlowGraph& graph_;
    Direction direction_;
    std::vector<u32> waiting_;  ///< The next one last.
    std::vector<bool> waits_;   ///< By instruction.
};

/// By register: whether it is one of `first`, or set from one of them by instructions for which
/// passes_on(position) is true. Empty if `first` is.
template <class F>
[[nodiscard]] std::vector<bool> registers_from(const FlowGraph& graph, std::span<const u32> first,
                                               F&& passes_on) {
    if (first.empty()) return {};
    std::vector<bool> found(graph.function().registers.size());
    Worklist worklist(graph, Worklist::Direction::forward);
    const auto add = [&](u32 index) {
        if (!found[index]) worklist.changed(index);
        found[index] = true;
    };
    for (const u32 index : first)
        add(index);
    while (const auto at = worklist.next()) {
        if (!passes_on(*at)) continue;
        bool from = false;
        graph.each_source(*at, [&](u32 index) { from |= found[index]; });
        if (from) graph.each_result(*at, add);
    }
    return found;
}

}  // namespace lode::emulator::decode
