// Decoding of an entry with everything that it may reach.
#pragma once

#include "emulator/decode/module_parts.hpp"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace lode::emulator::decode {

/// What the functions of one kernel share while they are decoded.
struct KernelBuild {
    const ModuleParts* module = nullptr;
    Kernel* kernel = nullptr;
    std::unordered_map<u32, Code*> codes;                  ///< By function index.
    std::unordered_map<const ptx::Variable*, u32> shared;  ///< Offsets.
    std::map<std::array<u32, 4>, u32> parameter_slots;     ///< By the fields of ParameterSlot.

    /// The launch area's slot for a value of the parameter block: `bytes` at `offset`, extended to
    /// `slot_bytes` a lane.
    Slot parameter_slot(u32 offset, u32 bytes, u32 slot_bytes, bool sign);
};

std::unique_ptr<Kernel> decode_kernel(const ModuleParts& module, u32 function);

/// Decodes one function of a kernel; a form that can't run ends it with a Refusal.
std::optional<Refusal> decode_function(KernelBuild& build, const ptx::Function& function,
                                       Code& code);

}  // namespace lode::emulator::decode
