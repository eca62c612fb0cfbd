// Decodes one function: variables, registers and instructions in order, then branch targets.
#include "base/align_up.hpp"
#include "emulator/decode/builder.hpp"
#include "emulator/decode/copies.hpp"
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/limits.hpp"
#include "emulator/decode/pointer_origins.hpp"
#include "emulator/decode/product_registers.hpp"
#include "emulator/decode/provenance.hpp"
#include "emulator/decode/registers.hpp"
#include "emulator/decode/shuffled.hpp"
#include "emulator/decode/uses.hpp"
#include "emulator/decode/waits.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

class FunctionDecoder {
public:
    FunctionDecoder(KernelBuild& build, const ptx::Function& function, Code& code)
        : function_(function), code_(code), builder_(build, function, code) {}

    /// Decodes the whole body. Stops at the first unsupported form and returns its Refusal.
    std::optional<Refusal> run();

private:
    void place_variables();
    void find_pointers();
    [[nodiscard]] std::vector<bool> registers_to_keep(const std::vector<bool>& copied) const;
    void decode_instruction(const ptx::Instruction& instruction);
    void decode_body();
    void count_instructions();
    void resolve_branches();

    const ptx::Function& function_;
    Code& code_;
    Builder builder_;
    std::vector<u32> first_op_;  ///< By instruction; the last entry is the end.
    std::vector<bool> product_registers_;
    std::vector<std::pair<u32, u32>> skips_;  ///< Op, op: jumps around guarded instructions.
};

void FunctionDecoder::place_variables() {
    if (function_.block_memory != 0) return builder_.refuse_function(".minperctamemory");
    if (bytes_in(function_.variables, ptx::Space::param) > max_function_parameters) {
        return builder_.refuse_function(
            fmt::format("more than {} bytes of parameters", max_function_parameters));
    }
    Frame& frame = builder_.frame();
    const auto returns = static_cast<u32>(function_.returns.size());
    const auto own = returns + static_cast<u32>(function_.parameters.size());
    u32 local = 0;
    u32 parameter = 0;
    for (u32 k = 0; k < function_.variables.size(); ++k) {
        const ptx::Variable& variable = function_.variables[k];
        const auto bytes = static_cast<u32>(variable.bytes);
        if (variable.space == ptx::Space::local) {
            local = align_up(local, variable.align);
            frame.set_local(k, local);
            local += bytes;
        } else if (variable.space == ptx::Space::param && function_.entry && k < own) {
            parameter = align_up(parameter, variable.align);
            frame.set_entry_offset(k, parameter);
            parameter += bytes;
        } else if (variable.space == ptx::Space::param) {
            const ParameterRows rows = frame.rows(k);
            if (k < returns) code_.returns.push_back(rows);
            if (k >= returns && k < own) code_.parameters.push_back(rows);
        }
    }
    code_.local_bytes = align_up(local, 16);
}

void FunctionDecoder::decode_instruction(const ptx::Instruction& instruction) {
    builder_.begin(instruction);
    if (builder_.is_unneeded()) return;
    Opcode& opcode = builder_.opcode();
    // A branch uses the guard as its condition; every other guarded instruction is jumped over.
    const bool skipped = instruction.guard >= 0 && opcode.name() != "bra";
    const auto skip = static_cast<u32>(code_.ops.size());
    if (skipped) {
        builder_.emit(instruction.guard_negated ? Operation::branch_if : Operation::branch_unless,
                      {builder_.frame().reg(static_cast<u32>(instruction.guard))});
    }
    if (builder_.notes_copies()) note_copies(builder_);
    if (!builder_.shuffled().empty()) note_shuffled_registers(builder_, builder_.shuffled());
    if (!product_registers_.empty()) note_product_registers(builder_, product_registers_);
    decoder_of(opcode.name())(builder_);
    if (const Word word = opcode.left_over(); word)
        builder_.refuse("with ." + std::string(word.text()));
    builder_.frame().release_temporaries();
    if (skipped) skips_.emplace_back(skip, static_cast<u32>(code_.ops.size()));
}

void FunctionDecoder::decode_body() {
    const std::vector<ptx::Instruction>& instructions = function_.instructions;
    code_.ops.reserve(instructions.size() + 8);
    first_op_.reserve(instructions.size() + 1);
    if (!instructions.empty()) load_register_parameters(builder_);
    const auto uses_stack = [](const ptx::Instruction& each) {
        const ptx::Word name = each.reading->name();
        return name == "alloca" || name == "stacksave" || name == "stackrestore";
    };
    if (std::ranges::any_of(instructions, uses_stack))
        builder_.emit(Operation::stack_reset, {builder_.frame().allocated()});
    for (const ptx::Instruction& instruction : instructions) {
        if (builder_.refused()) return;
        first_op_.push_back(static_cast<u32>(code_.ops.size()));
        decode_instruction(instruction);
    }
    if (builder_.refused()) return;
    first_op_.push_back(static_cast<u32>(code_.ops.size()));
    // A body may end without ret.
    if (!instructions.empty()) {
        builder_.begin(instructions.back());
        store_register_results(builder_);
    }
    builder_.emit(Operation::return_from, {});
}

// A branch that is part of the comparison before it is counted with that. Any other instruction
// without ops is counted with the next op; before a label, it is counted with the op
// that falls through to the label.
void FunctionDecoder::count_instructions() {
    for (const u32 instruction : builder_.joined())
        ++code_.ops[first_op_[instruction] - 1].instructions;
    auto joined = builder_.joined().begin();
    u32 waiting = 0;
    for (u32 i = 0; i < function_.instructions.size(); ++i) {
        if (builder_.graph().is_label(i) && first_op_[i] > 0)
            code_.ops[first_op_[i] - 1].instructions += std::exchange(waiting, 0);
        if (joined != builder_.joined().end() && *joined == i) {
            ++joined;
            continue;
        }
        ++waiting;
        if (first_op_[i] != first_op_[i + 1])
            code_.ops[first_op_[i]].instructions += std::exchange(waiting, 0);
    }
    code_.ops.back().instructions += waiting;
}

void FunctionDecoder::find_pointers() {
    const FlowGraph& graph = builder_.graph();
    std::vector<u32> origins = pointer_origins(builder_.frame(), graph);
    std::vector<u32>& written = builder_.kernel().written_parameters;
    const std::vector<u32> here = written_parameters(function_, origins);
    written.insert(written.end(), here.begin(), here.end());
    builder_.set_pointer_origins(std::move(origins));
    builder_.kernel().may_wait |= may_wait(function_);
}

void FunctionDecoder::resolve_branches() {
    Op* const ops = code_.ops.data();
    for (const auto& [op, instruction] : builder_.branches().ops)
        ops[op].target = ops + first_op_[instruction];
    for (const auto& [op, target] : skips_)
        ops[op].target = ops + target;
    for (const auto& [place, instruction] : builder_.branches().tables)
        *place = ops + first_op_[instruction];
}

// The check for unwritten memory remembers what copied registers hold, the race check what products
// do with theirs, and that of synchronisation what shuffles have taken, by slot.
std::vector<bool> FunctionDecoder::registers_to_keep(const std::vector<bool>& copied) const {
    std::vector<bool> keep = copied;
    keep.resize(function_.registers.size());
    for (std::size_t k = 0; k < product_registers_.size(); ++k)
        keep[k] = keep[k] || product_registers_[k];
    for (std::size_t k = 0; k < builder_.shuffled().size(); ++k)
        keep[k] = keep[k] || builder_.shuffled()[k];
    return keep;
}

std::optional<Refusal> FunctionDecoder::run() {
    const FlowGraph& graph = builder_.graph();
    code_.function = &function_;
    place_variables();
    product_registers_ = product_registers(graph);
    if (builder_.build().module->follows_shuffles) builder_.set_shuffled(shuffled_registers(graph));
    // Without a map of written bytes, nothing asks what is copied.
    const bool notes_copies = builder_.build().module->memory->written() != nullptr;
    std::vector<bool> copied;
    if (notes_copies) copied = copied_registers(graph);
    if (!builder_.refused()) allocate_registers(builder_, registers_to_keep(copied));
    if (!builder_.refused()) builder_.set_shared_origins(shared_origins(builder_.build(), graph));
    if (notes_copies) builder_.set_copied(std::move(copied), padding_loads(graph));
    if (!builder_.refused()) find_pointers();
    if (!builder_.refused() && needs_uses(function_)) builder_.set_uses(register_uses(graph));
    if (!builder_.refused()) decode_body();
    if (builder_.refused()) return builder_.refusal();
    count_instructions();
    resolve_branches();
    builder_.frame().finish(code_);
    if (!builder_.build().module->shares_slots) builder_.frame().note_places(code_);
    return std::nullopt;
}

}  // namespace

std::optional<Refusal> decode_function(KernelBuild& build, const ptx::Function& function,
                                       Code& code) {
    return FunctionDecoder(build, function, code).run();
}

}  // namespace lode::emulator::decode
