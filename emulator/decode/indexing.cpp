// An address may be made where it is used if its parts have the same values there as where the
// program made it. Either the index never changes once it is set, because its only definition is in
// no loop. Or nothing writes it and no label stands between the two places, so that the address has
// just been made.
#include "emulator/decode/indexing.hpp"

#include "emulator/decode/operand_registers.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::decode {

namespace {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

constexpr u32 undefined = ~u32{0};
constexpr u32 defined_often = ~u32{0} - 1;

bool is_sum(std::string_view opcode) {
    return opcode == "add.s64" || opcode == "add.u64";
}
bool is_product(std::string_view opcode) {
    return opcode == "mul.wide.s32" || opcode == "mul.wide.u32";
}
bool is_conversion(std::string_view opcode) {
    return opcode == "cvt.s64.s32" || opcode == "cvt.u64.u32";
}

class IndexFinder {
public:
    IndexFinder(const ptx::Function& function, const Frame& frame)
        : function_(function),
          frame_(frame),
          definition_(function.registers.size(), undefined),
          last_written_(function.registers.size(), undefined),
          uses_(function.registers.size()),
          is_label_(function.instructions.size() + 1),
          in_loop_(function.instructions.size()) {}

    Indexing run();

private:
    /// An address, and the first instruction of those that make it.
    struct Made {
        IndexedAddress address;
        u32 first = 0;
    };

    void count();
    void mark_destinations(u32 at);
    void find_loops();
    /// The only definition of a register of the frame, if it is unconditional and before `at`.
    [[nodiscard]] const Instruction* definition_of(u32 reg, u32 at) const;
    [[nodiscard]] bool is_base(const Operand& operand) const;
    [[nodiscard]] std::optional<Made> widened(u32 reg, u32 at) const;
    [[nodiscard]] std::optional<Made> made_by(u32 reg, u32 at, u32 depth) const;
    /// Whether the index has, at `at`, the value that it had where the address was made.
    [[nodiscard]] bool still_holds(const Made& made, u32 at) const;
    [[nodiscard]] static bool is_access(const Instruction& one);
    void find_accesses(Indexing& found);
    void drop_unneeded(Indexing& found);

    const ptx::Function& function_;
    const Frame& frame_;
    std::vector<u32> definition_;    ///< By register: its instruction, or the two values above.
    std::vector<u32> last_written_;  ///< By register: the last instruction before the current one.
    std::vector<u32> uses_;          ///< By register: the sources that name it.
    std::vector<bool> is_label_;
    std::vector<bool> in_loop_;
    u32 last_label_ = 0;  ///< The last instruction with a label, up to the current one.
};

void IndexFinder::count() {
    for (u32 at = 0; at < function_.instructions.size(); ++at) {
        const Instruction& one = function_.instructions[at];
        if (one.guard >= 0) ++uses_[static_cast<u32>(one.guard)];
        for (const Operand& operand : function_.sources_of(one)) {
            each_register_or_pair(function_, operand, [&](u32 reg) { ++uses_[reg]; });
            if (operand.kind == OperandKind::label) is_label_[operand.index] = true;
        }
        for (const Operand& operand : function_.results_of(one)) {
            each_register_or_pair(function_, operand, [&](u32 reg) {
                definition_[reg] = definition_[reg] == undefined ? at : defined_often;
            });
        }
    }
    for (const ptx::Table& table : function_.tables)
        for (const u32 target : table.instructions)
            is_label_[target] = true;
    for (const ptx::RegisterParameter& one : function_.register_parameters)
        definition_[one.first] = defined_often;
}

void IndexFinder::find_loops() {
    // The target of each backward branch, by its instruction; then the furthest back of all that
    // follow an instruction.
    const auto count = static_cast<u32>(function_.instructions.size());
    u32 target = count;
    std::vector<u32> back(count, count);
    for (u32 at = 0; at < count; ++at) {
        for (const Operand& operand : function_.operands_of(function_.instructions[at])) {
            if (operand.kind == OperandKind::label) back[at] = std::min(back[at], operand.index);
            if (operand.kind != OperandKind::table) continue;
            for (const u32 one : function_.tables[operand.index].instructions)
                back[at] = std::min(back[at], one);
        }
    }
    for (u32 at = count; at-- > 0;) {
        target = std::min(target, back[at] <= at ? back[at] : count);
        in_loop_[at] = target <= at;
    }
}

void IndexFinder::mark_destinations(u32 at) {
    for (const Operand& operand : function_.results_of(function_.instructions[at]))
        each_register_or_pair(function_, operand, [&](u32 reg) { last_written_[reg] = at; });
}

const Instruction* IndexFinder::definition_of(u32 reg, u32 at) const {
    const u32 where = definition_[reg];
    if (where >= at || frame_.is_alias(reg)) return nullptr;
    const Instruction& one = function_.instructions[where];
    return one.guard < 0 ? &one : nullptr;
}

bool IndexFinder::is_base(const Operand& operand) const {
    if (operand.kind != OperandKind::reg || function_.registers[operand.index].bytes != 8)
        return false;
    const u32 area = frame_.reg(operand.index) >> area_shift;
    return area == static_cast<u32>(Area::launch) || area == static_cast<u32>(Area::constants);
}

std::optional<IndexFinder::Made> IndexFinder::widened(u32 reg, u32 at) const {
    const Instruction* const one = definition_of(reg, at);
    if (one == nullptr || one->count < 2) return std::nullopt;
    const auto operands = function_.operands_of(*one);
    const std::string_view opcode = one->opcode;
    Made made;
    made.first = definition_[reg];
    if (is_product(opcode)) {
        if (one->count != 3) return std::nullopt;
        const Operand& factor = operands[2];
        constexpr u64 most = u64{1} << 16;
        if (factor.kind != OperandKind::integer || factor.bits == 0 || factor.bits > most)
            return std::nullopt;
        made.address.scale = static_cast<u32>(factor.bits);
    } else if (!is_conversion(opcode)) {
        return std::nullopt;
    }
    const Operand& index = operands[1];
    if (index.kind != OperandKind::reg || function_.registers[index.index].bytes != 4)
        return std::nullopt;
    made.address.sign = opcode.ends_with(".s32");
    made.address.index = index.index;
    return made;
}

std::optional<IndexFinder::Made> IndexFinder::made_by(u32 reg, u32 at, u32 depth) const {
    const Instruction* const one = definition_of(reg, at);
    constexpr u32 deepest = 4;
    if (one == nullptr || depth == deepest || one->count != 3) return std::nullopt;
    if (!is_sum(one->opcode)) return std::nullopt;
    const u32 where = definition_[reg];
    const auto operands = function_.operands_of(*one);
    const Operand& left = operands[1];
    const Operand& right = operands[2];
    if (left.kind == OperandKind::reg && right.kind == OperandKind::integer) {
        auto made = made_by(left.index, where, depth + 1);
        if (made) made->address.offset += right.bits;
        return made;
    }
    if (left.kind != OperandKind::reg || right.kind != OperandKind::reg) return std::nullopt;
    const bool left_is_base = is_base(left);
    if (!left_is_base && !is_base(right)) return std::nullopt;
    auto made = widened(left_is_base ? right.index : left.index, where);
    if (made) made->address.base = frame_.reg(left_is_base ? left.index : right.index);
    return made;
}

bool IndexFinder::still_holds(const Made& made, u32 at) const {
    const u32 index = made.address.index;
    if (frame_.is_alias(index)) return true;
    const u32 where = definition_[index];
    if (where < made.first && !in_loop_[where]) return true;
    const u32 written = last_written_[index];
    if (last_label_ > made.first && last_label_ <= at) return false;
    return written == undefined || written < made.first;
}

bool IndexFinder::is_access(const Instruction& one) {
    const std::string_view opcode = one.opcode;
    if (!opcode.starts_with("ld.") && !opcode.starts_with("st.")) return false;
    const std::string_view rest = opcode.substr(3);
    if (rest.starts_with("async") || rest.starts_with("bulk")) return false;
    const auto has = [&](std::string_view word) { return opcode.find(word) != opcode.npos; };
    // Not the shared memory of other blocks.
    if (has("::cluster") || has("b128")) return false;
    return has(".global") || has(".shared");
}

void IndexFinder::find_accesses(Indexing& found) {
    const auto count = static_cast<u32>(function_.instructions.size());
    for (u32 at = 0; at < count; ++at) {
        if (is_label_[at]) last_label_ = at;
        const Instruction& one = function_.instructions[at];
        if (is_access(one)) {
            for (const Operand& operand : function_.operands_of(one)) {
                if (!operand.address || operand.kind != OperandKind::reg) continue;
                if (function_.registers[operand.index].bytes != 8) continue;
                const auto made = made_by(operand.index, at, 0);
                if (!made || !still_holds(*made, at)) continue;
                // An address that a loop only uses is better made once.
                if (in_loop_[at] && !in_loop_[made->first]) continue;
                found.accesses[at] = made->address;
                found.accesses[at]->offset += operand.bits;
                --uses_[operand.index];
            }
        }
        mark_destinations(at);
    }
}

void IndexFinder::drop_unneeded(Indexing& found) {
    for (auto at = static_cast<u32>(function_.instructions.size()); at-- > 0;) {
        const Instruction& one = function_.instructions[at];
        if (one.count < 2 || one.guard >= 0) continue;
        const std::string_view opcode = one.opcode;
        const Operand& to = function_.operands[one.first];
        if ((!is_sum(opcode) && !is_product(opcode) && !is_conversion(opcode)) ||
            to.kind != OperandKind::reg || definition_[to.index] != at)
            continue;
        if (uses_[to.index] != 0 || frame_.is_alias(to.index)) continue;
        found.unneeded[at] = true;
        for (const Operand& from : function_.sources_of(one))
            each_register_or_pair(function_, from, [&](u32 reg) { --uses_[reg]; });
    }
}

Indexing IndexFinder::run() {
    Indexing found;
    found.accesses.resize(function_.instructions.size());
    found.unneeded.resize(function_.instructions.size());
    count();
    find_loops();
    find_accesses(found);
    drop_unneeded(found);
    found.labels = std::move(is_label_);
    return found;
}

}  // namespace

Indexing find_indexed_accesses(const ptx::Function& function, const Frame& frame) {
    return IndexFinder(function, frame).run();
}

}  // namespace lode::emulator::decode
