// Builder: the interface that instruction decoders use.
#pragma once

#include "emulator/decode/flow_graph.hpp"
#include "emulator/decode/frame.hpp"
#include "emulator/decode/indexing.hpp"
#include "emulator/decode/kernel.hpp"
#include "emulator/decode/opcode.hpp"
#include "emulator/isa/table.hpp"

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace lode::emulator::decode {

/// Where an op writes a result. When the register's size differs from the op's, the op writes a
/// temporary and Builder::write_back() converts it.
struct Destination {
    Slot slot = no_slot;  ///< The slot that the op writes.
    Slot reg = no_slot;   ///< The register to convert into; no_slot when no conversion is needed.
    char from = 0, to = 0;
    bool sign = false;
};

/// Branches to resolve once all ops are in their final places.
struct UnresolvedBranches {
    std::vector<std::pair<u32, u32>> ops;            ///< Op, target instruction.
    std::vector<std::pair<const Op**, u32>> tables;  ///< Entry of a jump table, target instruction.
};

/// Builds the ops of one function, one instruction at a time. A decoder takes the words of the
/// opcode, asks for the slots of the operands and emits ops on them:
///
/// void pending_count(Builder& b) {  // mbarrier.pending_count.b64 %r, %rd
/// b.opcode().ignore({"pending_count", "b64"});
/// const Destination to = b.destination(b.operand(0), 'w');
/// const Slot state = b.source(b.operand(1), 'd');
/// if (b.refused()) return;
/// b.emit(Operation::mbarrier_pending_count, {to.slot, state});
/// b.write_back(to);
/// }
///
/// A letter is the size that an op works on, as in OpRow; a register of another size is converted,
/// sign- or zero-extended according to the instruction's type. Unsupported forms are refused: only
/// the first refusal is kept, and ops emitted after it never run.
class Builder {
public:
    Builder(KernelBuild& build, const ptx::Function& function, Code& code);

    /// Makes an instruction of the function the current one.
    void begin(const ptx::Instruction& instruction);
    [[nodiscard]] const ptx::Instruction& instruction() const noexcept { return *instruction_; }
    /// Its index in the function.
    [[nodiscard]] u32 position() const noexcept {
        return static_cast<u32>(instruction_ - function_.instructions.data());
    }
    [[nodiscard]] Opcode& opcode() noexcept { return opcode_; }
    [[nodiscard]] u32 operand_count() const noexcept { return instruction_->count; }
    /// An operand of the current instruction; kind `none` past the last one.
    [[nodiscard]] const ptx::Operand& operand(u32 index) const;
    /// The elements of a list operand; any other operand is a list of itself.
    [[nodiscard]] std::span<const ptx::Operand> list(const ptx::Operand& operand) const;

    // Sources.
    Slot source(const ptx::Operand& operand, char letter, bool sign = false);
    /// The slot of an operand's register, without any offset added to it.
    Slot register_source(u32 index, char letter, bool sign = false);
    Slot predicate(const ptx::Operand& operand);
    /// A slot that holds the same value in every lane.
    Slot constant(u64 low, u32 bytes, u64 high = 0);
    /// The address of a variable or symbol operand if it is known when decoding.
    [[nodiscard]] std::optional<u64> known_address(const ptx::Operand& operand) const;
    /// The value of a 32-bit operand that is constant: a number, or a register that is written only
    /// once, with a number.
    [[nodiscard]] std::optional<u32> known_number(const ptx::Operand& operand) const;

    // Destinations.
    Destination destination(const ptx::Operand& operand, char letter, bool sign = false);
    /// The register q of a destination p|q; no_slot if there is none.
    [[nodiscard]] Slot second_destination(const ptx::Operand& operand) const noexcept;
    /// Converts the result into the register if necessary; call it after emitting the op.
    void write_back(const Destination& destination);
    /// A slot that is valid for the current instruction only.
    Slot temporary(char letter) { return frame_.temporary(letter); }

    // Ops. The reference is valid until the next op is emitted.
    Op& emit(Operation operation, std::initializer_list<Slot> slots);
    /// The shared variables that registers' addresses come from.
    void set_shared_origins(std::vector<u32> origins) { shared_origins_ = std::move(origins); }
    /// The registers through which memory is copied; none without the check for unwritten memory.
    void set_copied(std::vector<bool> registers, std::vector<bool> padding_loads) {
        copied_ = std::move(registers);
        padding_loads_ = std::move(padding_loads);
    }
    [[nodiscard]] bool notes_copies() const noexcept { return !copied_.empty(); }
    /// The parameters that registers' pointers come from.
    void set_pointer_origins(std::vector<u32> origins) { pointer_origins_ = std::move(origins); }
    /// Adds to made.reads and made.writes the slots of those of `registers` that the current
    /// instruction reads and writes; whether there are any.
    template <class T>
    bool note_accesses(const std::vector<bool>& registers, T& made) {
        const auto note_in = [&](std::vector<Slot>& slots) {
            return [&](u32 index) {
                if (registers[index]) slots.push_back(frame().reg(index));
            };
        };
        graph().each_result(position(), note_in(made.writes));
        graph().each_source(position(), note_in(made.reads));
        return !made.reads.empty() || !made.writes.empty();
    }
    /// The registers that note_shuffled_registers() follows.
    void set_shuffled(std::vector<bool> registers) { shuffled_ = std::move(registers); }
    [[nodiscard]] const std::vector<bool>& shuffled() const noexcept { return shuffled_; }
    void set_uses(std::vector<u8> uses) { uses_ = std::move(uses); }
    /// What becomes of the values in an operand's register: use_…, of uses.hpp. Only known in
    /// functions with volatile loads or atomics.
    [[nodiscard]] u8 uses_of(const ptx::Operand& operand) const {
        return operand.kind == ptx::OperandKind::reg && !uses_.empty() ? uses_[operand.index] : 0;
    }
    /// Whether an operand is a register through which memory is copied.
    [[nodiscard]] bool is_copied(const ptx::Operand& operand) const {
        return operand.kind == ptx::OperandKind::reg && notes_copies() && copied_[operand.index];
    }
    /// Whether the current instruction may load padding.
    [[nodiscard]] bool may_load_padding() const;
    void set_indexing(Indexing indexing) { indexing_ = std::move(indexing); }
    /// The parts of the address of the current instruction, if it accesses an array by an index.
    [[nodiscard]] const IndexedAddress* indexed_address() const;
    /// Whether no op needs the result of the current instruction.
    [[nodiscard]] bool is_unneeded() const;
    /// Emits a memory op with its own pair of cached bounds and, for ld, st, atom and red, with the
    /// shared variable or the parameter of its address.
    Op& emit_access(Operation operation, std::initializer_list<Slot> slots);
    /// Emits the op of a row of the operation table; refuses if there is no such row.
    void emit_row(std::string_view key, std::initializer_list<Slot> slots, Flags flags = {});
    void emit_branch(Operation operation, Slot condition, u32 instruction);
    /// Says that the last op is a comparison, and which row makes it one with a branch after it.
    void set_last_comparison(Operation with_branch) {
        comparison_ = {static_cast<u32>(code_.ops.size()), with_branch};
    }
    /// Makes the comparison before a branch on its predicate one op with it, if nothing can come
    /// between the two; otherwise false.
    bool join_branch(Slot condition, bool negated, u32 instruction);
    /// The instructions that are part of the op before them.
    [[nodiscard]] const std::vector<u32>& joined() const noexcept { return joined_; }
    void emit_branch_table(Slot index, std::span<const u32> instructions);

    // Refusals.
    /// Refuses the current instruction: "The software device doesn't run <opcode> `why` (PTX line
    /// …)."
    void refuse(std::string_view why = {});
    /// Refuses the function: "The software device doesn't run the function <name> with `why` (PTX
    /// line …)."
    void refuse_function(std::string_view why);
    [[nodiscard]] bool refused() const noexcept { return refusal_.has_value(); }
    [[nodiscard]] const std::optional<Refusal>& refusal() const noexcept { return refusal_; }

    // The function and kernel being built.
    [[nodiscard]] const ptx::Function& function() const noexcept { return function_; }
    [[nodiscard]] const FlowGraph& graph() const noexcept { return graph_; }
    [[nodiscard]] KernelBuild& build() noexcept { return build_; }
    [[nodiscard]] DecodedKernel& kernel() noexcept { return *build_.kernel; }
    [[nodiscard]] Frame& frame() noexcept { return frame_; }
    [[nodiscard]] const UnresolvedBranches& branches() const noexcept { return branches_; }

private:
    Slot converted(Slot from, char have, char want, bool sign);
    Slot sum(const ptx::Operand& operand, char letter, bool sign);
    Slot address(const ptx::Operand& operand, char letter);
    Slot special_register(std::string_view name, char letter);

    KernelBuild& build_;
    const ptx::Function& function_;
    FlowGraph graph_;
    Code& code_;
    Frame frame_;
    const ptx::Instruction* instruction_;
    Opcode opcode_;
    std::optional<Refusal> refusal_;
    UnresolvedBranches branches_;
    std::vector<u32> shared_origins_;
    std::vector<bool> copied_;
    std::vector<bool> padding_loads_;
    std::vector<u8> uses_;
    std::vector<bool> shuffled_;
    std::vector<u32> pointer_origins_;
    Indexing indexing_;
    struct {
        u32 end = 0;  ///< The number of ops once it was emitted.
        Operation with_branch{};
    } comparison_;
    std::vector<u32> joined_;
};

}  // namespace lode::emulator::decode
