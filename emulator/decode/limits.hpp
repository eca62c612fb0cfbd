// Device limits for modules, checked with 64-bit arithmetic before the 32-bit layout.
#pragma once

#include "emulator/decode/module_parts.hpp"

#include <span>
#include <string>

namespace lode::emulator::decode {

// As in ptxas 13.0, in bytes.
inline constexpr u64 max_static_shared = u64{48} * 1024;
inline constexpr u64 max_constants = u64{64} * 1024;
/// Before PTX 8.1, and since.
inline constexpr u64 max_parameters_short = 4352;
inline constexpr u64 max_parameters_long = 32764;
/// The executor's limit for the parameters of a function and of its calls.
inline constexpr u64 max_function_parameters = u64{1} << 20;
/// The executor's limit for the registers, constants and parameters of one function, per warp.
inline constexpr u64 max_frame_bytes = u64{1} << 28;

/// Adds a variable after `size` bytes; saturates at the largest 64-bit number.
[[nodiscard]] u64 laid_out(u64 size, const ptx::Variable& variable) noexcept;
/// The total bytes of a function's variables in one space, laid out in order.
[[nodiscard]] u64 bytes_in(std::span<const ptx::Variable> variables, ptx::Space space) noexcept;

/// The functions that an entry may call, starting with the entry itself.
[[nodiscard]] std::vector<u32> reachable(const ModuleParts& module, u32 entry);
/// The shared variables that these functions declare or name, without duplicates: those with a
/// size, and the dynamic ones.
struct SharedVariables {
    std::vector<const ptx::Variable*> fixed, dynamic;
};
[[nodiscard]] SharedVariables shared_variables(const ModuleParts& module,
                                               std::span<const u32> functions);

/// The first limit on parameters, constants or static shared memory that the module exceeds; the
/// load fails with LoadStatus::invalid_ptx. Limits that only affect launches aren't checked here.
[[nodiscard]] ptx::ParseError check_limits(const ModuleParts& module);

}  // namespace lode::emulator::decode
