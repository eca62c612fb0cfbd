// Decodes a kernel: its reachable functions, the layout of shared memory and its properties.
#include "emulator/decode/kernel.hpp"

#include "base/align_up.hpp"
#include "base/cxx_names.hpp"
#include "emulator/decode/limits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::decode {

namespace {

/// check_limits() has already checked the sizes.
void lay_out_shared(KernelBuild& build, const std::vector<u32>& order) {
    KernelInfo& info = build.kernel->info;
    const SharedVariables shared = shared_variables(*build.module, order);
    for (const ptx::Variable* const variable : shared.fixed) {
        info.static_shared = align_up(info.static_shared, variable->align);
        build.shared[variable] = info.static_shared;
        auto& variables = build.kernel->shared_variables;
        build.shared_index[variable] = static_cast<u32>(variables.size());
        variables.push_back({info.static_shared, static_cast<u32>(variable->bytes),
                             lode::demangled(variable->name).value_or(std::string(variable->name)),
                             variable->name});
        info.static_shared += static_cast<u32>(variable->bytes);
    }
    u32& offset = build.kernel->dynamic_shared_offset;
    offset = align_up(info.static_shared, 16);
    // The alignment of a block's shared memory, in bytes.
    constexpr u32 most = 1024;
    for (const ptx::Variable* const variable : shared.dynamic)
        offset = align_up(offset, std::min(variable->align, most));
    for (const ptx::Variable* const variable : shared.dynamic)
        build.shared[variable] = offset;
}

/// Sets KernelInfo::too_large and the local memory of the entry, `order.front()`.
void measure_local(const ModuleParts& module, const std::vector<u32>& order, KernelInfo& info) {
    for (const u32 index : order) {
        const ptx::Function& function = module.ast.functions[index];
        const u64 bytes = bytes_in(function.variables, ptx::Space::local);
        if (index == order.front())
            info.local_bytes = static_cast<u32>(std::min<u64>(bytes, INT32_MAX));
        if (bytes <= max_local_bytes) continue;
        info.too_large = fmt::format(
            "The kernel {} needs {} bytes of local memory per thread{}; the limit is {}.",
            info.name, bytes,
            index == order.front() ? std::string() : fmt::format(" in {}", function.name),
            max_local_bytes);
        return;
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
    info.explicit_cluster = function.explicit_cluster;
    info.max_cluster_blocks = function.max_cluster_rank;
    info.min_blocks_per_sm = function.min_blocks;
    info.constant_bytes = static_cast<u32>(module.constant_bytes);
}

}  // namespace

Slot KernelBuild::parameter_slot(u32 offset, u32 bytes, u32 slot_bytes, bool sign) {
    const auto [at, fresh] =
        parameter_slots.try_emplace({offset, bytes, slot_bytes, u32{sign}}, kernel->launch_bytes);
    if (fresh) {
        kernel->parameter_slots.push_back({offset, static_cast<u8>(bytes),
                                           static_cast<u8>(slot_bytes), sign,
                                           kernel->launch_bytes});
        kernel->launch_bytes += align_up(slot_bytes * lanes, 64);
    }
    return slot(Area::launch, at->second);
}

std::unique_ptr<DecodedKernel> decode_kernel(const ModuleParts& module, u32 function) {
    auto kernel = std::make_unique<DecodedKernel>();
    kernel->launch_bytes = first_parameter_slot;
    KernelBuild build;
    build.module = &module;
    build.kernel = kernel.get();
    const ptx::Function& entry = module.ast.functions[function];
    describe(module, entry, kernel->info);
    const std::vector<u32> order = reachable(module, function);
    lay_out_shared(build, order);
    measure_local(module, order, kernel->info);
    if (!kernel->info.too_large.empty()) return kernel;  // No launch is possible.
    for (const u32 index : order) {
        build.codes[index] = &kernel->codes.emplace_back();
        kernel->by_function[index] = build.codes[index];
    }
    for (const u32 index : order) {
        kernel->refusal = decode_function(build, module.ast.functions[index], *build.codes[index]);
        if (kernel->refusal) return kernel;
    }
    const Code& code = kernel->codes.front();
    kernel->info.local_bytes = code.local_bytes;
    kernel->info.warp_bytes = u64{code.frame_bytes} + u64{code.local_bytes} * lanes;
    // The frame has 128 bytes per 32-bit value; a device has at most 255 registers per thread.
    kernel->info.registers = std::clamp(code.frame_bytes / 128, 16u, 255u);
    return kernel;
}

}  // namespace lode::emulator::decode
