// A register is followed from each block that reads a value it hasn't made, against the direction
// of control flow, to the blocks that make it. A range is an interval of the text: it includes what
// lies between, even where the register isn't live.
#include "emulator/decode/live_ranges.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::decode {

namespace {

class Liveness {
public:
    Liveness(const FlowGraph& graph, const Indexing& indexing)
        : graph_(graph),
          indexing_(indexing),
          indices_(indices()),
          opened_(graph.blocks(), none),
          makes_(graph.blocks(), none),
          gives_(graph.blocks(), none),
          steps_(steps_for_each * graph.instructions()) {}

    std::vector<LiveRange> run() {
        std::vector<LiveRange> ranges;
        for (u32 reg = 0; reg < graph_.function().registers.size(); ++reg)
            ranges.push_back(range_of(reg));
        return ranges;
    }

private:
    static constexpr u32 none = ~u32{0};
    static constexpr u64 steps_for_each = 64;

    /// By register: the instructions that make an address of it.
    [[nodiscard]] Lists indices() const {
        std::vector<std::pair<u32, u32>> found;
        for (u32 at = 0; at < graph_.instructions(); ++at)
            if (const auto& made = indexing_.accesses[at]) found.emplace_back(made->index, at);
        return {graph_.function().registers.size(), found};
    }
    /// Whether the op of an instruction reads a register, which the instruction reads.
    [[nodiscard]] bool op_reads(u32 reg, u32 at) const {
        if (indexing_.unneeded[at]) return false;
        const auto& made = indexing_.accesses[at];
        if (!made || made->address != reg) return true;
        u32 times = 0;
        graph_.each_source(at, [&](u32 one) { times += one == reg ? 1 : 0; });
        return times > 1;
    }
    [[nodiscard]] LiveRange range_of(u32 reg);
    void read(u32 reg, u32 at, LiveRange& range);
    void follow(u32 reg, LiveRange& range);

    const FlowGraph& graph_;
    const Indexing& indexing_;
    const Lists indices_;
    // By block, the last register looked at that
    std::vector<u32> opened_;  ///< it reads before it makes it,
    std::vector<u32> makes_;   ///< it makes,
    std::vector<u32> gives_;   ///< is live at its end.
    std::vector<u32> open_;    ///< Blocks at whose start a register is live.
    u64 steps_;
};

void Liveness::read(u32 reg, u32 at, LiveRange& range) {
    range.include(at);
    const u32 block = graph_.block_of(at);
    if (opened_[block] == reg || graph_.writes_between(reg, graph_.start(block), at)) return;
    opened_[block] = reg;
    open_.push_back(block);
}

void Liveness::follow(u32 reg, LiveRange& range) {
    while (!open_.empty()) {
        if (steps_ == 0) {
            open_.clear();
            range = {0, graph_.instructions() - 1};
            return;
        }
        const u32 block = open_.back();
        open_.pop_back();
        range.include(graph_.start(block));
        for (const u32 from : graph_.predecessors(block)) {
            if (gives_[from] == reg) continue;
            gives_[from] = reg;
            range.include(graph_.start(from + 1) - 1);
            if (makes_[from] != reg) open_.push_back(from);
        }
        steps_ -= std::min<u64>(steps_, 1 + graph_.predecessors(block).size());
    }
}

LiveRange Liveness::range_of(u32 reg) {
    LiveRange range;
    for (const u32 at : graph_.readers(reg))
        if (op_reads(reg, at)) read(reg, at, range);
    for (const u32 at : indices_[reg])
        read(reg, at, range);
    for (const u32 at : graph_.writers(reg)) {
        if (indexing_.unneeded[at]) continue;
        range.include(at);
        makes_[graph_.block_of(at)] = reg;
    }
    follow(reg, range);
    return range;
}

}  // namespace

std::vector<LiveRange> live_ranges(const FlowGraph& graph, const Indexing& indexing) {
    return Liveness(graph, indexing).run();
}

}  // namespace lode::emulator::decode
