// Builder: instructions, emission of ops, refusals. operands.cpp implements the operands.
#include "emulator/decode/builder.hpp"

#include "emulator/decode/provenance.hpp"
#include "emulator/isa/control.hpp"
#include "emulator/isa/load_store.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

/// The current instruction of a function without a body.
const ptx::Instruction no_instruction;

}  // namespace

Builder::Builder(KernelBuild& build, const ptx::Function& function, Code& code)
    : build_(build),
      function_(function),
      graph_(function),
      code_(code),
      frame_(function),
      instruction_(function.instructions.empty() ? &no_instruction : function.instructions.data()) {
}

void Builder::begin(const ptx::Instruction& instruction) {
    instruction_ = &instruction;
    opcode_ = Opcode(instruction.reading->words);
}

const ptx::Operand& Builder::operand(u32 index) const {
    static const ptx::Operand none;
    if (index >= instruction_->count) return none;
    return function_.operands[instruction_->first + index];
}

std::span<const ptx::Operand> Builder::list(const ptx::Operand& operand) const {
    if (operand.kind != ptx::OperandKind::list) return {&operand, 1};
    return function_.elements_of(operand);
}

Op& Builder::emit(Operation operation, std::initializer_list<Slot> slots) {
    Op op;
    op.operation = operation;
    std::ranges::copy(slots, op.r);
    code_.ops.push_back(op);
    code_.origin.push_back(instruction_ == &no_instruction ? 0 : position());
    return code_.ops.back();
}

const IndexedAddress* Builder::indexed_address() const {
    if (indexing_.accesses.empty()) return nullptr;
    const auto& made = indexing_.accesses[position()];
    return made ? &*made : nullptr;
}

bool Builder::is_unneeded() const {
    return !indexing_.unneeded.empty() && indexing_.unneeded[position()];
}

bool Builder::may_load_padding() const {
    return !padding_loads_.empty() && padding_loads_[position()];
}

Op& Builder::emit_access(Operation operation, std::initializer_list<Slot> slots) {
    Op& op = emit(operation, slots);
    op.cache = kernel().bounds++;
    u32& parameter = kernel().access_parameters.emplace_back(no_parameter_offset);
    const Word name = opcode_.name();
    if (name != "ld" && name != "st" && name != "atom" && name != "red") return op;
    for (const ptx::Operand& operand : function_.operands_of(*instruction_)) {
        if (!operand.address && !operand.is_element) continue;
        const u32 origin = origin_of(build_, function_, operand, shared_origins_);
        if (origin < several_variables) op.r[exec::variable_operand] = origin;
        if (operand.kind == ptx::OperandKind::reg && !pointer_origins_.empty())
            parameter = pointer_origins_[operand.index];
    }
    return op;
}

void Builder::emit_row(std::string_view key, std::initializer_list<Slot> slots, Flags flags) {
    const OpRow* const row = find_op(key);
    if (row == nullptr) return refuse();
    emit(row->operation(), slots).flags = flags;
}

void Builder::emit_branch(Operation operation, Slot condition, u32 instruction) {
    branches_.ops.emplace_back(static_cast<u32>(code_.ops.size()), instruction);
    emit(operation, {condition});
}

bool Builder::join_branch(Slot condition, bool negated, u32 instruction) {
    const u32 at = position();
    if (code_.ops.empty() || comparison_.end != code_.ops.size()) return false;
    Op& op = code_.ops.back();
    if (op.r[0] != condition || code_.origin.back() + 1 != at || graph_.is_label(at)) return false;
    op.operation = comparison_.with_branch;
    op.flags = negated ? exec::BranchWhen::fails : exec::BranchWhen::holds;
    branches_.ops.emplace_back(static_cast<u32>(code_.ops.size() - 1), instruction);
    joined_.push_back(at);
    return true;
}

void Builder::emit_branch_table(Slot index, std::span<const u32> instructions) {
    std::vector<const Op*>& table = code_.jump_tables.emplace_back(instructions.size());
    for (std::size_t k = 0; k < instructions.size(); ++k)
        branches_.tables.emplace_back(&table[k], instructions[k]);
    emit(Operation::branch_indexed, {index}).table = &table;
}

void Builder::refuse(std::string_view why) {
    if (refusal_) return;
    Refusal made;
    made.opcode = std::string(instruction_->opcode);
    made.ptx_line = instruction_->line;
    made.source = source_place(*build_.module, code_, *instruction_);
    made.message = fmt::format("The software device doesn't run {}{}{} ({}PTX line {}).",
                               made.opcode, why.empty() ? "" : " ", why,
                               made.source.empty() ? "" : made.source + ", ", made.ptx_line);
    refusal_ = std::move(made);
}

void Builder::refuse_function(std::string_view why) {
    if (refusal_) return;
    Refusal made;
    made.opcode = std::string(function_.name);
    made.ptx_line = function_.line;
    made.message =
        fmt::format("The software device doesn't run the function {} with {} (PTX line {}).",
                    function_.name, why, function_.line);
    refusal_ = std::move(made);
}

}  // namespace lode::emulator::decode
