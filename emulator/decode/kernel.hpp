// Decoding of an entry together with every function that it may call.
#pragma once

#include "emulator/decode/module_parts.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace lode::emulator::decode {

/// State shared by the functions of one kernel during decoding.
struct KernelBuild {
    const ModuleParts* module = nullptr;
    DecodedKernel* kernel = nullptr;
    std::unordered_map<u32, Code*> codes;                  ///< By function index.
    std::unordered_map<const ptx::Variable*, u32> shared;  ///< Offsets in shared memory.
    std::unordered_map<const ptx::Variable*, u32>
        shared_index;                                   ///< In DecodedKernel::shared_variables.
    std::map<std::array<u32, 4>, u32> parameter_slots;  ///< By the fields of ParameterSlot.

    /// The slot in the launch area for `bytes` at `offset` of the parameter block, extended to
    /// `slot_bytes` per lane.
    Slot parameter_slot(u32 offset, u32 bytes, u32 slot_bytes, bool sign);
};

std::unique_ptr<DecodedKernel> decode_kernel(const ModuleParts& module, u32 function);

/// Decodes one function of a kernel. Stops at the first unsupported form and returns its Refusal.
std::optional<Refusal> decode_function(KernelBuild& build, const ptx::Function& function,
                                       Code& code);

}  // namespace lode::emulator::decode
