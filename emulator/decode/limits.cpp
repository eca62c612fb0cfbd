#include "emulator/decode/limits.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

constexpr u64 overflown = ~u64{0};

/// Adds the functions whose addresses are stored in the module's variables: any kernel with an
/// indirect call may call them.
void add_address_taken(const ModuleParts& module, std::vector<u32>& queue) {
    for (const ptx::Variable& variable : module.ast.variables) {
        for (const ptx::Initial& value : variable.initial) {
            const auto found = module.functions.find(value.symbol);
            if (found != module.functions.end()) queue.push_back(found->second);
        }
    }
}

bool calls_by_register(const ptx::Function& function) {
    return std::ranges::any_of(function.instructions, [&](const ptx::Instruction& instruction) {
        return instruction.traits.effect == ptx::Effect::call &&
               function.sources_of(instruction).front().kind == OperandKind::reg;
    });
}

/// Calls f(name) for each symbol that the function's operands and tables name.
template <class F>
void each_symbol(const ptx::Function& function, F&& f) {
    for (const auto* pool : {&function.operands, &function.elements}) {
        for (const ptx::Operand& operand : *pool) {
            if (operand.kind == OperandKind::symbol) f(operand.name);
        }
    }
    for (const ptx::Table& table : function.tables)
        std::ranges::for_each(table.functions, f);
}

}  // namespace

u64 laid_out(u64 size, const ptx::Variable& variable) noexcept {
    u64 padded = 0;
    if (__builtin_add_overflow(size, u64{variable.align} - 1, &padded)) return overflown;
    padded = padded / variable.align * variable.align;
    u64 end = 0;
    return __builtin_add_overflow(padded, variable.bytes, &end) ? overflown : end;
}

u64 bytes_in(std::span<const ptx::Variable> variables, ptx::Space space) noexcept {
    u64 size = 0;
    for (const ptx::Variable& variable : variables) {
        if (variable.space == space) size = laid_out(size, variable);
    }
    return size;
}

std::vector<u32> reachable(const ModuleParts& module, u32 entry) {
    std::vector<u32> order;
    std::vector<u32> queue{entry};
    std::unordered_set<u32> seen;
    bool indirect = false;
    while (!queue.empty()) {
        const u32 index = queue.back();
        queue.pop_back();
        const ptx::Function& function = module.ast.functions[index];
        // Another kernel's address is for a launch.
        if (function.entry && index != entry) continue;
        if (!function.defined || !seen.insert(index).second) continue;
        order.push_back(index);
        each_symbol(function, [&](std::string_view name) {
            const auto found = module.functions.find(name);
            if (found != module.functions.end()) queue.push_back(found->second);
        });
        if (!indirect && calls_by_register(function)) {
            indirect = true;
            add_address_taken(module, queue);
        }
    }
    return order;
}

SharedVariables shared_variables(const ModuleParts& module, std::span<const u32> functions) {
    SharedVariables all;
    std::unordered_set<const ptx::Variable*> seen;
    const auto add = [&](const ptx::Variable& variable) {
        if (variable.space != ptx::Space::shared || !seen.insert(&variable).second) return;
        const bool dynamic = variable.is_extern() && variable.bytes == 0;
        (dynamic ? all.dynamic : all.fixed).push_back(&variable);
    };
    for (const u32 index : functions) {
        const ptx::Function& function = module.ast.functions[index];
        for (const ptx::Variable& variable : function.variables)
            add(variable);
        each_symbol(function, [&](std::string_view name) {
            const auto found = module.variables.find(name);
            if (found != module.variables.end()) add(module.ast.variables[found->second]);
        });
    }
    return all;
}

namespace {

ptx::ParseError check_parameters(const ModuleParts& module, const ptx::Function& entry) {
    constexpr int long_since = 801;
    const u64 limit = module.ast.version >= long_since ? max_parameters_long : max_parameters_short;
    const u64 size = bytes_in(entry.parameters, ptx::Space::param);
    if (size <= limit) return {};
    return {entry.line, fmt::format("The kernel {} has {} bytes of parameters; the limit is {}.",
                                    entry.name, size, limit)};
}

/// An upper bound of any kernel's static shared memory, usually below the limit, so that no kernel
/// has to be checked on its own.
u64 all_shared(const ModuleParts& module) {
    u64 size = 0;
    const auto add = [&](const ptx::Variable& variable) {
        if (variable.space == ptx::Space::shared) size = laid_out(size, variable);
    };
    std::ranges::for_each(module.ast.variables, add);
    for (const ptx::Function& function : module.ast.functions)
        std::ranges::for_each(function.variables, add);
    return size;
}

ptx::ParseError check_shared(const ModuleParts& module, u32 index) {
    const std::vector<u32> functions = reachable(module, index);
    u64 size = 0;
    for (const ptx::Variable* variable : shared_variables(module, functions).fixed)
        size = laid_out(size, *variable);
    if (size <= max_static_shared) return {};
    const ptx::Function& entry = module.ast.functions[index];
    return {entry.line,
            fmt::format("The kernel {} has {} bytes of static shared memory; the limit is {}.",
                        entry.name, size, max_static_shared)};
}

}  // namespace

ptx::ParseError check_limits(const ModuleParts& module) {
    const auto& functions = module.ast.functions;
    const u64 constants = bytes_in(module.ast.variables, ptx::Space::constant);
    if (constants > max_constants) {
        return {1, fmt::format("The module has {} bytes of constants; the limit is {}.", constants,
                               max_constants)};
    }
    const bool look_at_shared = all_shared(module) > max_static_shared;
    for (u32 k = 0; k < functions.size(); ++k) {
        if (!functions[k].entry || !functions[k].defined) continue;
        if (auto error = check_parameters(module, functions[k]); !error.message.empty())
            return error;
        if (!look_at_shared) continue;
        if (auto error = check_shared(module, k); !error.message.empty()) return error;
    }
    return {};
}

}  // namespace lode::emulator::decode
