#include "emulator/decode/flow_graph.hpp"

#include <algorithm>
#include <numeric>

namespace lode::emulator::decode {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

Lists::Lists(std::size_t count, std::span<const std::pair<u32, u32>> entries)
    : begin_(count + 1), values_(entries.size()) {
    for (const auto& [index, value] : entries)
        ++begin_[index + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<u32> next(begin_.begin(), begin_.end() - 1);
    for (const auto& [index, value] : entries)
        values_[next[index]++] = value;
}

FlowGraph::FlowGraph(const ptx::Function& function)
    : function_(&function),
      readers_(function.registers.size(), reads()),
      writers_(function.registers.size(), writes()),
      is_parameter_(function.registers.size()),
      is_label_(function.instructions.size() + 1),
      in_loop_(function.instructions.size()) {
    for (const ptx::RegisterParameter& one : function.register_parameters)
        is_parameter_[one.reg] = true;
    const Pairs jumps = find_jumps();
    for (const auto& [from, to] : jumps)
        is_label_[to] = true;
    find_loops(jumps);
    find_blocks(jumps);
    predecessors_ = Lists(blocks(), edges(jumps));
}

std::optional<u32> FlowGraph::only_writer(u32 reg) const {
    if (is_parameter_[reg] || writers_[reg].size() != 1) return std::nullopt;
    return writers_[reg].front();
}

bool FlowGraph::writes_between(u32 reg, u32 first, u32 last) const {
    const auto writer = std::ranges::lower_bound(writers_[reg], first);
    return writer != writers_[reg].end() && *writer < last;
}

FlowGraph::Pairs FlowGraph::reads() const {
    Pairs found;
    for (u32 at = 0; at < instructions(); ++at) {
        const Instruction& one = function_->instructions[at];
        const auto read = [&](u32 reg) { found.emplace_back(reg, at); };
        if (one.guard >= 0) read(static_cast<u32>(one.guard));
        each_source(at, read);
        if (one.traits.reads_results) continue;
        for (const Operand& result : function_->results_of(one))
            if (one.guard >= 0 || !result.selector.empty()) each_register(*function_, result, read);
    }
    return found;
}

FlowGraph::Pairs FlowGraph::writes() const {
    Pairs found;
    for (u32 at = 0; at < instructions(); ++at)
        each_result(at, [&](u32 reg) { found.emplace_back(reg, at); });
    return found;
}

/// Each branch and an instruction that it may lead to.
FlowGraph::Pairs FlowGraph::find_jumps() const {
    Pairs found;
    for (u32 at = 0; at < instructions(); ++at) {
        for (const Operand& operand : function_->operands_of(function_->instructions[at])) {
            if (operand.kind == OperandKind::label) found.emplace_back(at, operand.index);
            if (operand.kind != OperandKind::table) continue;
            for (const u32 target : function_->tables[operand.index].instructions)
                found.emplace_back(at, target);
        }
    }
    return found;
}

void FlowGraph::find_loops(const Pairs& jumps) {
    u32 furthest = instructions();  // The target furthest back of this and all later branches.
    auto jump = jumps.rbegin();
    for (u32 at = instructions(); at-- > 0;) {
        for (; jump != jumps.rend() && jump->first == at; ++jump)
            if (jump->second <= at) furthest = std::min(furthest, jump->second);
        in_loop_[at] = furthest <= at;
    }
}

/// Whether lanes may go on with the next instruction.
bool FlowGraph::goes_on(u32 at) const {
    const Instruction& one = function_->instructions[at];
    return !one.traits.ends_path || one.guard >= 0;
}

void FlowGraph::find_blocks(const Pairs& jumps) {
    std::vector<bool> begins = is_label_;
    begins.front() = true;
    for (const auto& [from, to] : jumps)
        begins[from + 1] = true;
    block_of_.resize(instructions());
    for (u32 at = 0; at < instructions(); ++at) {
        if (begins[at]) starts_.push_back(at);
        block_of_[at] = static_cast<u32>(starts_.size()) - 1;
        if (!goes_on(at)) begins[at + 1] = true;
    }
    starts_.push_back(instructions());
}

/// Each block and one before it.
FlowGraph::Pairs FlowGraph::edges(const Pairs& jumps) const {
    Pairs found;
    for (const auto& [from, to] : jumps)
        if (to < instructions()) found.emplace_back(block_of_[to], block_of_[from]);
    for (u32 block = 1; block < blocks(); ++block)
        if (goes_on(starts_[block] - 1)) found.emplace_back(block, block - 1);
    return found;
}

Worklist::Worklist(const FlowGraph& graph, Direction direction)
    : graph_(graph),
      direction_(direction),
      waiting_(graph.instructions()),
      waits_(graph.instructions(), true) {
    std::iota(waiting_.begin(), waiting_.end(), u32{0});
    if (direction == Direction::forward) std::ranges::reverse(waiting_);
}

void Worklist::changed(u32 reg) {
    const bool forward = direction_ == Direction::forward;
    for (const u32 at : forward ? graph_.readers(reg) : graph_.writers(reg)) {
        if (waits_[at]) continue;
        waits_[at] = true;
        waiting_.push_back(at);
    }
}

std::optional<u32> Worklist::next() {
    if (waiting_.empty()) return std::nullopt;
    const u32 at = waiting_.back();
    waiting_.pop_back();
    waits_[at] = false;
    return at;
}

}  // namespace lode::emulator::decode
