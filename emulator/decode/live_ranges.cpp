// Most registers live inside one basic block, from a definition to the last use; one pass finds
// their ranges. The others are followed from each block that reads a value it hasn't made, against
// the direction of control flow, to the blocks that make it. A range is an interval of the text: it
// includes what lies between, even where the register isn't live.
#include "emulator/decode/live_ranges.hpp"

#include "emulator/decode/operand_registers.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::decode {

namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr u32 none = ~u32{0};

/// Consecutive lists in one vector, by index.
class Lists {
public:
    Lists(std::size_t count, std::span<const std::pair<u32, u32>> entries) : begin_(count + 1) {
        for (const auto& [index, value] : entries)
            ++begin_[index + 1];
        for (std::size_t k = 0; k < count; ++k)
            begin_[k + 1] += begin_[k];
        values_.resize(entries.size());
        std::vector<u32> next(begin_.begin(), begin_.end() - 1);
        for (const auto& [index, value] : entries)
            values_[next[index]++] = value;
    }
    [[nodiscard]] std::span<const u32> operator[](u32 index) const {
        return std::span(values_).subspan(begin_[index], begin_[index + 1] - begin_[index]);
    }

private:
    std::vector<u32> begin_;
    std::vector<u32> values_;
};

/// A register in a basic block.
struct Occurrence {
    u32 block = 0;
    bool reads_first = false;  ///< What it reads may come from another block.
    bool defines = false;
};

class Liveness {
public:
    Liveness(const ptx::Function& function, const Indexing& indexing,
             std::span<const u32> originals)
        : function_(function),
          indexing_(indexing),
          originals_(originals),
          ranges_(function.registers.size()),
          last_occurrence_(function.registers.size(), none) {}

    std::vector<LiveRange> run() {
        if (function_.instructions.empty()) return std::move(ranges_);
        find_blocks();
        scan();
        follow_all();
        return std::move(ranges_);
    }

private:
    /// Calls f with each instruction that a branch may lead to; false if there is none.
    template <class F>
    bool each_target(const Instruction& one, F&& f) const;
    void find_blocks();
    [[nodiscard]] std::vector<std::pair<u32, u32>> edges() const;
    void scan();
    void scan_instruction(u32 at, u32 block);
    void read_operand(const Operand& operand, u32 at, u32 block);
    void define_operand(const Operand& operand, u32 at, u32 block);
    Occurrence& occur(u32 reg, u32 at, u32 block, bool reads);
    void follow_all();

    const ptx::Function& function_;
    const Indexing& indexing_;
    std::span<const u32> originals_;
    std::vector<LiveRange> ranges_;
    std::vector<u32> starts_;  ///< By basic block: its first instruction.
    std::vector<Occurrence> occurrences_;
    std::vector<std::pair<u32, u32>> of_register_;  ///< Register, occurrence.
    std::vector<u32> last_occurrence_;              ///< By register.
};

template <class F>
bool Liveness::each_target(const Instruction& one, F&& f) const {
    bool any = false;
    for (const Operand& operand : function_.operands_of(one)) {
        if (operand.kind == OperandKind::label) {
            any = true;
            f(operand.index);
        } else if (operand.kind == OperandKind::table) {
            const ptx::Table& table = function_.tables[operand.index];
            any |= table.kind == ptx::Table::Kind::branch;
            for (const u32 target : table.instructions)
                f(target);
        }
    }
    return any;
}

/// Whether no lane goes on after an instruction.
bool ends_path(const Instruction& one) {
    return one.traits.ends_path && one.guard < 0;
}

/// Whether an instruction sets a whole operand in every active lane.
bool sets_all(const Instruction& one, const Operand& result) {
    return one.guard < 0 && !one.traits.reads_results && result.selector.empty();
}

void Liveness::find_blocks() {
    bool begins = true;
    for (u32 at = 0; at < function_.instructions.size(); ++at) {
        if (begins || indexing_.labels[at]) starts_.push_back(at);
        const Instruction& one = function_.instructions[at];
        begins = each_target(one, [](u32) {}) || ends_path(one);
    }
}

std::vector<std::pair<u32, u32>> Liveness::edges() const {
    std::vector<std::pair<u32, u32>> found;  // To, from.
    const auto count = static_cast<u32>(function_.instructions.size());
    for (u32 block = 0; block < starts_.size(); ++block) {
        const u32 end = block + 1 < starts_.size() ? starts_[block + 1] : count;
        const Instruction& last = function_.instructions[end - 1];
        each_target(last, [&](u32 target) {
            const auto to = std::ranges::lower_bound(starts_, target);
            if (target < count) found.emplace_back(static_cast<u32>(to - starts_.begin()), block);
        });
        if (end < count && !ends_path(last)) found.emplace_back(block + 1, block);
    }
    return found;
}

Occurrence& Liveness::occur(u32 reg, u32 at, u32 block, bool reads) {
    reg = originals_[reg];
    ranges_[reg].include(at);
    u32& last = last_occurrence_[reg];
    if (last == none || occurrences_[last].block != block) {
        last = static_cast<u32>(occurrences_.size());
        occurrences_.push_back({block, reads, false});
        of_register_.emplace_back(reg, last);
    }
    return occurrences_[last];
}

void Liveness::read_operand(const Operand& operand, u32 at, u32 block) {
    each_register_or_pair(function_, operand, [&](u32 reg) { occur(reg, at, block, true); });
}

void Liveness::define_operand(const Operand& operand, u32 at, u32 block) {
    if (operand.pair >= 0) occur(static_cast<u32>(operand.pair), at, block, false).defines = true;
    if (operand.kind == OperandKind::reg) occur(operand.index, at, block, false).defines = true;
    if (operand.kind != OperandKind::list) return;
    for (const Operand& one : function_.elements_of(operand))
        define_operand(one, at, block);
}

void Liveness::scan_instruction(u32 at, u32 block) {
    const Instruction& one = function_.instructions[at];
    if (one.guard >= 0) occur(static_cast<u32>(one.guard), at, block, true);
    const auto& indexed = indexing_.accesses[at];
    for (const Operand& operand : function_.sources_of(one)) {
        if (indexed && operand.address && operand.kind == OperandKind::reg) {
            occur(indexed->index, at, block, true);
        } else {
            read_operand(operand, at, block);
        }
    }
    for (const Operand& result : function_.results_of(one)) {
        if (sets_all(one, result)) {
            define_operand(result, at, block);
        } else {
            read_operand(result, at, block);
        }
    }
}

void Liveness::scan() {
    u32 block = 0;
    for (u32 at = 0; at < function_.instructions.size(); ++at) {
        if (block + 1 < starts_.size() && starts_[block + 1] == at) ++block;
        if (!indexing_.unneeded[at]) scan_instruction(at, block);
    }
}

void Liveness::follow_all() {
    const auto count = static_cast<u32>(function_.instructions.size());
    const auto blocks = static_cast<u32>(starts_.size());
    const Lists predecessors(blocks, edges());
    const Lists occurrences(ranges_.size(), of_register_);
    std::vector<u32> makes(blocks, none);  // By block: the last register looked at that it defines,
    std::vector<u32> gives(blocks, none);  // and that is live at its end.
    std::vector<u32> open;                 // Blocks at whose start a register is live.
    constexpr u64 steps_for_each = 64;
    u64 steps = steps_for_each * count;
    for (u32 reg = 0; reg < ranges_.size(); ++reg) {
        LiveRange& range = ranges_[reg];
        for (const u32 one : occurrences[reg]) {
            if (occurrences_[one].reads_first) open.push_back(occurrences_[one].block);
            if (occurrences_[one].defines) makes[occurrences_[one].block] = reg;
        }
        while (!open.empty() && steps > 0) {
            const u32 block = open.back();
            open.pop_back();
            range.include(starts_[block]);
            for (const u32 from : predecessors[block]) {
                if (gives[from] == reg) continue;
                gives[from] = reg;
                range.include((from + 1 < blocks ? starts_[from + 1] : count) - 1);
                if (makes[from] != reg) open.push_back(from);
            }
            steps -= std::min<u64>(steps, 1 + predecessors[block].size());
        }
        if (open.empty()) continue;
        range = {0, count - 1};
        open.clear();
    }
}

}  // namespace

std::vector<LiveRange> live_ranges(const ptx::Function& function, const Indexing& indexing,
                                   std::span<const u32> originals) {
    return Liveness(function, indexing, originals).run();
}

}  // namespace lode::emulator::decode
