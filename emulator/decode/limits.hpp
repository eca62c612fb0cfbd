// What a module may ask of a device, counted in 64 bits before anything is laid out in 32.
#pragma once

#include "emulator/decode/module_parts.hpp"

#include <span>
#include <string>

namespace lode::emulator::decode {

// As ptxas 13.0 has them, in bytes.
inline constexpr u64 max_static_shared = 48 * 1024;
inline constexpr u64 max_constants = 64 * 1024;
/// Before PTX 8.1, and since.
inline constexpr u64 max_parameters_short = 4352;
inline constexpr u64 max_parameters_long = 32764;
/// The executor's own: parameters of a function and of its calls.
inline constexpr u64 max_function_parameters = u64{1} << 20;
/// The executor's own: registers, constants and parameters of one function for a warp.
inline constexpr u64 max_frame_bytes = u64{1} << 28;

/// Adds a variable behind `size` bytes; what doesn't fit in 64 bits stays at the largest number.
[[nodiscard]] u64 laid_out(u64 size, const ptx::Variable& variable) noexcept;
/// The bytes of a function's variables of one space, one behind the other.
[[nodiscard]] u64 bytes_in(std::span<const ptx::Variable> variables, ptx::Space space) noexcept;

/// The functions that an entry may reach, itself first.
[[nodiscard]] std::vector<u32> reachable(const ModuleParts& module, u32 entry);
/// The shared variables that these functions have or name, each once: those with a size, and the
/// dynamic ones.
struct SharedVariables {
    std::vector<const ptx::Variable*> fixed, dynamic;
};
[[nodiscard]] SharedVariables shared_variables(const ModuleParts& module,
                                               std::span<const u32> functions);

/// The first limit that the module's text exceeds, for LoadStatus::invalid_ptx: parameters,
/// constants, static shared memory. What only a launch can refuse isn't looked at.
[[nodiscard]] ptx::ParseError check_limits(const ModuleParts& module);

}  // namespace lode::emulator::decode
