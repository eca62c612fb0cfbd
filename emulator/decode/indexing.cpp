// An address may be made where it is used if its parts have the same values there as where the
// program made it. Either the index never changes once it is set, because its only definition is in
// no loop. Or nothing writes it and no label stands between the two places, so that the address has
// just been made.
#include "emulator/decode/indexing.hpp"

#include <algorithm>
#include <initializer_list>

namespace lode::emulator::decode {

namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

bool is(const Instruction& one, std::initializer_list<ptx::Word> words) {
    return std::ranges::equal(one.reading->words, words);
}
bool is_sum(const Instruction& one) {
    return is(one, {"add", "s64"}) || is(one, {"add", "u64"});
}
bool is_product(const Instruction& one) {
    return is(one, {"mul", "wide", "s32"}) || is(one, {"mul", "wide", "u32"});
}
bool is_conversion(const Instruction& one) {
    return is(one, {"cvt", "s64", "s32"}) || is(one, {"cvt", "u64", "u32"});
}

class IndexFinder {
public:
    IndexFinder(const FlowGraph& graph, const Frame& frame)
        : graph_(graph), function_(graph.function()), frame_(frame) {}

    Indexing run();

private:
    /// An address, and the first instruction of those that make it.
    struct Made {
        IndexedAddress address;
        u32 first = 0;
    };

    /// The only definition of a register of the frame, if it is unconditional and before `at`.
    [[nodiscard]] std::optional<u32> definition_of(u32 reg, u32 at) const;
    [[nodiscard]] bool is_base(const Operand& operand) const;
    [[nodiscard]] std::optional<Made> widened(u32 reg, u32 at) const;
    [[nodiscard]] std::optional<Made> made_by(u32 reg, u32 at, u32 depth) const;
    /// Whether the index has, at `at`, the value that it had where the address was made.
    [[nodiscard]] bool still_holds(const Made& made, u32 at) const;
    [[nodiscard]] static bool is_access(const Instruction& one);
    void find_accesses(Indexing& found);
    void drop_unneeded(Indexing& found);

    const FlowGraph& graph_;
    const ptx::Function& function_;
    const Frame& frame_;
    std::vector<u32> uses_;  ///< By register: how often an op reads it.
    u32 last_label_ = 0;     ///< The last instruction with a label, up to the current one.
};

std::optional<u32> IndexFinder::definition_of(u32 reg, u32 at) const {
    const auto where = graph_.only_writer(reg);
    if (!where || *where >= at || frame_.is_alias(reg)) return std::nullopt;
    return function_.instructions[*where].guard < 0 ? where : std::nullopt;
}

bool IndexFinder::is_base(const Operand& operand) const {
    if (operand.kind != OperandKind::reg || function_.registers[operand.index].bytes != 8)
        return false;
    const u32 area = frame_.reg(operand.index) >> area_shift;
    return area == static_cast<u32>(Area::launch) || area == static_cast<u32>(Area::constants);
}

std::optional<IndexFinder::Made> IndexFinder::widened(u32 reg, u32 at) const {
    const auto where = definition_of(reg, at);
    if (!where) return std::nullopt;
    const Instruction& one = function_.instructions[*where];
    const auto operands = function_.operands_of(one);
    Made made;
    made.first = *where;
    if (is_product(one)) {
        const Operand& factor = operands[2];
        constexpr u64 most = u64{1} << 16;
        if (factor.kind != OperandKind::integer || factor.bits == 0 || factor.bits > most)
            return std::nullopt;
        made.address.scale = static_cast<u32>(factor.bits);
    } else if (!is_conversion(one)) {
        return std::nullopt;
    }
    const Operand& index = operands[1];
    if (index.kind != OperandKind::reg || function_.registers[index.index].bytes != 4)
        return std::nullopt;
    made.address.sign = one.reading->has("s32");
    made.address.index = index.index;
    return made;
}

std::optional<IndexFinder::Made> IndexFinder::made_by(u32 reg, u32 at, u32 depth) const {
    const auto where = definition_of(reg, at);
    constexpr u32 deepest = 4;
    if (!where || depth == deepest) return std::nullopt;
    const Instruction& one = function_.instructions[*where];
    if (!is_sum(one)) return std::nullopt;
    const auto operands = function_.operands_of(one);
    const Operand& left = operands[1];
    const Operand& right = operands[2];
    if (left.kind == OperandKind::reg && right.kind == OperandKind::integer) {
        auto made = made_by(left.index, *where, depth + 1);
        if (made) made->address.offset += right.bits;
        return made;
    }
    if (left.kind != OperandKind::reg || right.kind != OperandKind::reg) return std::nullopt;
    const bool left_is_base = is_base(left);
    if (!left_is_base && !is_base(right)) return std::nullopt;
    auto made = widened(left_is_base ? right.index : left.index, *where);
    if (made) made->address.base = frame_.reg(left_is_base ? left.index : right.index);
    return made;
}

bool IndexFinder::still_holds(const Made& made, u32 at) const {
    const u32 index = made.address.index;
    if (frame_.is_alias(index)) return true;
    const auto where = graph_.only_writer(index);
    if (where && *where < made.first && !graph_.in_loop(*where)) return true;
    if (last_label_ > made.first && last_label_ <= at) return false;
    return !graph_.writes_between(index, made.first, at);
}

bool IndexFinder::is_access(const Instruction& one) {
    const ptx::Reading& reading = *one.reading;
    const ptx::Space space = one.traits.space;
    // Not the shared memory of other blocks.
    return (reading.name() == "ld" || one.traits.effect == ptx::Effect::store) &&
           (space == ptx::Space::global || space == ptx::Space::shared) &&
           !reading.has("shared::cluster") && !reading.has("b128");
}

void IndexFinder::find_accesses(Indexing& found) {
    for (u32 at = 0; at < graph_.instructions(); ++at) {
        if (graph_.is_label(at)) last_label_ = at;
        const Instruction& one = function_.instructions[at];
        if (!is_access(one)) continue;
        for (const Operand& operand : function_.operands_of(one)) {
            if (!operand.address || operand.kind != OperandKind::reg) continue;
            if (function_.registers[operand.index].bytes != 8) continue;
            auto made = made_by(operand.index, at, 0);
            if (!made || !still_holds(*made, at)) continue;
            // An address that a loop only uses is better made once.
            if (graph_.in_loop(at) && !graph_.in_loop(made->first)) continue;
            made->address.offset += operand.bits;
            made->address.address = operand.index;
            found.accesses[at] = made->address;
            --uses_[operand.index];
        }
    }
}

void IndexFinder::drop_unneeded(Indexing& found) {
    for (u32 at = graph_.instructions(); at-- > 0;) {
        const Instruction& one = function_.instructions[at];
        if (one.guard >= 0 || (!is_sum(one) && !is_product(one) && !is_conversion(one))) continue;
        const Operand& to = function_.results_of(one).front();
        if (to.kind != OperandKind::reg || graph_.only_writer(to.index) != at) continue;
        if (uses_[to.index] != 0 || frame_.is_alias(to.index)) continue;
        found.unneeded[at] = true;
        graph_.each_source(at, [&](u32 reg) { --uses_[reg]; });
    }
}

Indexing IndexFinder::run() {
    Indexing found;
    found.accesses.resize(graph_.instructions());
    found.unneeded.resize(graph_.instructions());
    for (u32 reg = 0; reg < function_.registers.size(); ++reg)
        uses_.push_back(static_cast<u32>(graph_.readers(reg).size()));
    find_accesses(found);
    drop_unneeded(found);
    return found;
}

}  // namespace

Indexing find_indexed_accesses(const FlowGraph& graph, const Frame& frame) {
    return IndexFinder(graph, frame).run();
}

}  // namespace lode::emulator::decode
