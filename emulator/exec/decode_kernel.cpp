// A kernel: what it reaches, the layout of shared memory, and the facts about it.
#include <algorithm>

#include <emulator/exec/decoder.hpp>
#include <emulator/exec/scheduler.hpp>
#include <fmt/format.h>

namespace lode::emulator {

namespace {

using ptx::OperandKind;

u32 align_up(u32 value, u32 align) {
    return (value + align - 1) / align * align;
}

/// Names of functions whose address is stored in a module's variables: any kernel with an indirect
/// call may call them.
void add_address_taken(const ModuleParts& module, std::vector<u32>& queue) {
    for (const ptx::Variable& variable : module.ast.variables) {
        for (const ptx::Initial& value : variable.initial) {
            const auto found = module.functions.find(value.symbol);
            if (found != module.functions.end()) queue.push_back(found->second);
        }
    }
}

/// The functions an entry may reach, itself first.
std::vector<u32> reachable(const ModuleParts& module, u32 entry) {
    std::vector<u32> order;
    std::vector<u32> queue{entry};
    bool indirect = false;
    while (!queue.empty()) {
        const u32 index = queue.back();
        queue.pop_back();
        const ptx::Function& function = module.ast.functions[index];
        if (!function.defined || std::ranges::find(order, index) != order.end()) continue;
        order.push_back(index);
        for (const auto* pool : {&function.operands, &function.elements}) {
            for (const ptx::Operand& operand : *pool) {
                if (operand.kind != OperandKind::symbol) continue;
                const auto found = module.functions.find(operand.name);
                if (found != module.functions.end()) queue.push_back(found->second);
            }
        }
        for (const ptx::Instruction& instruction : function.instructions) {
            if (!instruction.opcode.starts_with("call")) continue;
            const u32 last = std::min<u32>(instruction.count, 2);
            for (u32 k = 0; k < last; ++k) {
                const bool call_by_register =
                    function.operands[instruction.first + k].kind == OperandKind::reg;
                if (call_by_register && !indirect) {
                    indirect = true;
                    add_address_taken(module, queue);
                }
            }
        }
    }
    return order;
}

void lay_out_shared(KernelBuild& build, const std::vector<u32>& order) {
    const ModuleParts& module = *build.module;
    KernelInfo& info = build.kernel->info;
    const auto place = [&](const ptx::Variable& variable) {
        if (build.shared.contains(&variable)) return;
        info.static_shared = align_up(info.static_shared, variable.align);
        build.shared[&variable] = info.static_shared;
        info.static_shared += static_cast<u32>(variable.bytes);
    };
    std::vector<const ptx::Variable*> dynamic;
    for (const u32 index : order) {
        const ptx::Function& function = module.ast.functions[index];
        for (const ptx::Variable& variable : function.variables) {
            if (variable.space == ptx::Space::shared) place(variable);
        }
        for (const auto* pool : {&function.operands, &function.elements}) {
            for (const ptx::Operand& operand : *pool) {
                if (operand.kind != OperandKind::symbol) continue;
                const auto found = module.variables.find(operand.name);
                if (found == module.variables.end()) continue;
                const ptx::Variable& variable = module.ast.variables[found->second];
                if (variable.space != ptx::Space::shared) continue;
                if (variable.is_extern && variable.bytes == 0) {
                    dynamic.push_back(&variable);
                } else {
                    place(variable);
                }
            }
        }
    }
    build.kernel->dynamic_shared_offset = align_up(info.static_shared, 16);
    for (const ptx::Variable* const variable : dynamic) {
        build.kernel->dynamic_shared_offset =
            align_up(build.kernel->dynamic_shared_offset, variable->align);
    }
    for (const ptx::Variable* const variable : dynamic) {
        build.shared[variable] = build.kernel->dynamic_shared_offset;
    }
}

void describe(const ModuleParts& module, const ptx::Function& function, KernelInfo& info) {
    info.name = std::string(function.name);
    for (const ptx::Variable& variable : function.parameters) {
        Parameter parameter;
        parameter.align = variable.align;
        parameter.size = static_cast<u32>(variable.bytes);
        parameter.offset = align_up(info.parameter_bytes, variable.align);
        parameter.pointer = variable.pointer;
        info.parameter_bytes = parameter.offset + parameter.size;
        info.parameters.push_back(parameter);
    }
    const auto dim = [](const std::array<u32, 3>& from) { return Dim3{from[0], from[1], from[2]}; };
    info.max_ntid = dim(function.max_ntid);
    info.required_ntid = dim(function.required_ntid);
    info.required_cluster = dim(function.cluster);
    info.min_blocks_per_sm = function.min_blocks;
    for (const Global& global : module.globals) {
        if (global.constant) info.constant_bytes += static_cast<u32>(global.bytes);
    }
}

}  // namespace

std::string source_place(const ModuleParts& module, const Code& code, const ptx::Instruction& at) {
    if (at.location == 0) return {};
    const auto& locations = code.function->locations;
    const auto name = [&](const ptx::Location& location) {
        const auto file = module.ast.files.find(location.file);
        const std::string_view path =
            file != module.ast.files.end() ? file->second : std::string_view("?");
        return fmt::format("{}:{}", path, location.line);
    };
    const ptx::Location& inner = locations[at.location];
    std::string text = name(inner);
    for (u32 parent = inner.parent; parent != 0; parent = locations[parent].parent) {
        text += ", inlined at " + name(locations[parent]);
    }
    return text;
}

std::unique_ptr<Kernel> decode_kernel(const ModuleParts& module, u32 function) {
    auto kernel = std::make_unique<Kernel>();
    kernel->launch_bytes = first_parameter_slot;
    KernelBuild build;
    build.module = &module;
    build.kernel = kernel.get();
    const ptx::Function& entry = module.ast.functions[function];
    describe(module, entry, kernel->info);
    const std::vector<u32> order = reachable(module, function);
    lay_out_shared(build, order);
    for (const u32 index : order) {
        build.codes[index] = &kernel->codes.emplace_back();
        kernel->by_function[index] = build.codes[index];
    }
    for (const u32 index : order) {
        Decoder decoder(build, module.ast.functions[index], *build.codes[index]);
        if (auto refusal = decoder.run()) {
            kernel->refusal = std::move(refusal);
            return kernel;
        }
    }
    const Code& code = kernel->codes.front();
    kernel->info.local_bytes = code.local_bytes;
    // The frame holds 128 bytes for each 32-bit value; what a device would keep is at most 255.
    kernel->info.registers = std::clamp(code.frame_bytes / 128, 16u, 255u);
    const auto cluster = kernel->info.required_cluster;
    if (cluster.count() > 1) {
        Refusal refusal;
        refusal.opcode = ".reqnctapercluster";
        refusal.ptx_line = entry.line;
        refusal.message = fmt::format(
            "The emulator doesn't run the kernel {}, which needs clusters of {} blocks (PTX line "
            "{}).",
            kernel->info.name, cluster.count(), entry.line);
        kernel->refusal = std::move(refusal);
    }
    return kernel;
}

}  // namespace lode::emulator
