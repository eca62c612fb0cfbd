// The stages of the software device for PTX: lexer, parser, validator, decoder, and running
// modules.
#include "emulator/decode/ptx/ast.hpp"
#include "emulator/decode/ptx/lexer.hpp"
#include "emulator/exec/machine.hpp"
#include "emulator/memory/memory.hpp"
#include "tests/fuzz/source.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace lode::fuzz {
namespace {

using namespace lode::emulator;
using namespace lode::emulator::exec;

constexpr int newest_ptx = 900;

bool inside(std::string_view part, std::string_view whole) {
    return part.empty() || (part.data() >= whole.data() &&
                            part.data() + part.size() <= whole.data() + whole.size());
}

bool ptx_lexer(Bytes bytes) {
    const std::string_view text = text_of(bytes);
    for (const bool extends : {false, true}) {
        std::uint32_t line = 1;
        std::size_t tokens = 0;
        for (ptx::Lexer lexer(text); !lexer.at_end(); lexer.next()) {
            if (extends && lexer.token == ptx::Token::word) lexer.extend_word();
            require(!lexer.text.empty() && inside(lexer.text, text));
            require(lexer.line >= line && lexer.line <= text.size() + 1);
            line = lexer.line;
            require(++tokens <= text.size());
        }
    }
    return true;
}

/// Checks that every index of the syntax tree lies inside its table and every view inside the text.
void check_operand(const ptx::Function& function, const ptx::Operand& operand,
                   const ptx::Module& module, std::string_view text) {
    require(inside(operand.name, text) ||
            std::ranges::find(module.made_names, operand.name) != module.made_names.end());
    switch (operand.kind) {
        case ptx::OperandKind::reg:
            require(operand.index < function.registers.size());
            break;
        case ptx::OperandKind::variable:
            require(operand.index < function.variables.size());
            break;
        case ptx::OperandKind::label:
            require(operand.index <= function.instructions.size());
            break;
        case ptx::OperandKind::table:
            require(operand.index < function.tables.size());
            break;
        case ptx::OperandKind::list:
            require(std::size_t{operand.index} + operand.count <= function.elements.size());
            break;
        default:
            break;
    }
    if (operand.pair >= 0)
        require(static_cast<std::size_t>(operand.pair) < function.registers.size());
}

void check_tree(const ptx::Module& module, std::string_view text) {
    for (const ptx::Function& function : module.functions) {
        require(inside(function.name, text));
        for (const ptx::Instruction& instruction : function.instructions) {
            require(!instruction.opcode.empty());  // The grammar's spelling, not a view.
            require(std::size_t{instruction.first} + instruction.count <= function.operands.size());
            require(instruction.location < function.locations.size());
            if (instruction.guard >= 0)
                require(static_cast<std::size_t>(instruction.guard) < function.registers.size());
        }
        for (const ptx::Table& table : function.tables) {
            for (const std::uint32_t target : table.instructions)
                require(target <= function.instructions.size());
        }
        for (const ptx::RegisterParameter& one : function.register_parameters) {
            require(one.variable < function.variables.size());
            require(one.reg < function.registers.size());
        }
        for (const ptx::Operand& operand : function.operands)
            check_operand(function, operand, module, text);
        for (const ptx::Operand& element : function.elements)
            check_operand(function, element, module, text);
    }
}

bool parse(std::string_view text, ptx::Module& module) {
    const ptx::ParseError error = ptx::parse(text, module, newest_ptx);
    if (error.message.empty()) {
        check_tree(module, text);
        return true;
    }
    require(error.line <= text.size() + 1);
    return false;
}

bool ptx_parser(Bytes bytes) {
    ptx::Module module;
    return parse(text_of(bytes), module);
}

bool ptx_validator(Bytes bytes) {
    ptx::Module module;
    if (!parse(text_of(bytes), module)) return false;
    const ptx::ParseError error = ptx::validate(module);
    require(error.message.empty() ? error.line == 0 : error.line <= bytes.size() + 1);
    return error.message.empty();
}

/// A small device, created once; each input must leave its memory as it was.
struct Bench {
    static constexpr std::size_t reservation = std::size_t{4} << 30;
    Memory memory{reservation, std::size_t{1} << 20};
    Machine machine{memory, 1};
};

Bench& bench() {
    static Bench one;
    return one;
}

std::unique_ptr<Module> load(Bytes bytes) {
    LoadOutcome outcome = Module::load(bench().memory, text_of(bytes), 9, 0);
    require((outcome.status == LoadStatus::ok) == (outcome.module != nullptr));
    if (outcome.status != LoadStatus::ok) require(!outcome.log.empty());
    return std::move(outcome.module);
}

bool ptx_decoder(Bytes bytes) {
    const auto module = load(bytes);
    if (module == nullptr) return false;
    bool runs = false;
    for (const std::string& name : module->kernel_names()) {
        const KernelInfo* const info = module->kernel(name);
        require(info != nullptr && info->name == name);
        for (const Parameter& parameter : info->parameters)
            require(std::size_t{parameter.offset} + parameter.size <= info->parameter_bytes);
        const Refusal* const refusal = module->refusal(name);
        if (refusal != nullptr) require(!refusal->message.empty());
        runs |= refusal == nullptr;
    }
    for (const Global& global : module->globals())
        require(module->global(global.name) != nullptr);
    return runs;
}

/// 8-byte parameters get buffer addresses, others a small number.
std::vector<std::byte> parameters_of(const KernelInfo& info, std::uint64_t buffers) {
    constexpr std::uint64_t spacing = 4096;
    std::vector<std::byte> bytes(info.parameter_bytes);
    std::uint64_t number = 0;
    for (const Parameter& parameter : info.parameters) {
        const std::uint64_t value = parameter.size == 8 ? buffers + number % 4 * spacing : 16;
        std::memcpy(bytes.data() + parameter.offset, &value,
                    std::min<std::size_t>(parameter.size, sizeof(value)));
        ++number;
    }
    return bytes;
}

/// Loads a module and runs its first kernels with all checks on and an instruction limit.
bool ptx_run(Bytes bytes) {
    const auto module = load(bytes);
    if (module == nullptr) return false;
    constexpr std::size_t buffer_bytes = 4 * 4096;
    constexpr std::size_t most_kernels = 4;
    Memory& memory = bench().memory;
    const std::uint64_t buffers = memory.allocate(buffer_bytes, MemoryKind::device, "fuzz");
    if (buffers == 0) {
        require(!module->globals().empty());  // Variables have used up the memory.
        return false;
    }
    LaunchOptions options;
    options.checks = {true, true, true};
    options.stack_limit = 16 * 1024;
    options.heap_limit = 64 * 1024;
    options.instruction_limit = 2000;
    options.timeout = std::chrono::seconds(5);
    options.cooperative = !bytes.empty() && (bytes.size() & 1) != 0;
    options.seed = bytes.size() % 3;
    options.print = [](std::string_view) {};
    options.complain = [](std::string_view) {};
    options.finding = [](std::string_view text) { require(!text.empty()); };
    bool ran = false;
    std::size_t launched = 0;
    for (const std::string& name : module->kernel_names()) {
        if (++launched > most_kernels) break;
        const KernelInfo& info = *module->kernel(name);
        constexpr std::uint32_t most_shared = 227 * 1024;  // The driver's limit on sm_90.
        if (info.static_shared > most_shared) continue;
        GridShape shape{{2, 1, 1}, {40, 1, 1}, 256};
        if (info.required_ntid.count() > 0) shape.block = info.required_ntid;
        const LaunchOutcome outcome =
            bench().machine.launch(*module, name, shape, parameters_of(info, buffers), options);
        if (outcome.fault != Fault::none) require(!outcome.report.empty());
        ran |= outcome.fault == Fault::none;
    }
    require(memory.free(buffers) == FreeOutcome::freed);
    for (const Allocation& left : memory.living()) {
        if (left.kind == MemoryKind::heap) (void)memory.release(left.address);
    }
    return ran;
}

constexpr std::size_t most = 8192;

constexpr Target ptx_rows[] = {
    {"ptx_lexer", ptx_lexer, Form::ptx, "ptx", most},
    {"ptx_parser", ptx_parser, Form::ptx, "ptx", most},
    {"ptx_validator", ptx_validator, Form::ptx, "ptx", most},
    {"ptx_decoder", ptx_decoder, Form::ptx, "ptx", most},
    {"ptx_run", ptx_run, Form::ptx, "ptx", most},
};

}  // namespace

std::span<const Target> ptx_targets() noexcept {
    return ptx_rows;
}

}  // namespace lode::fuzz
