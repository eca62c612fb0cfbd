// What a function may be launched with, and how many of its blocks fit: the one place that
// attributes, launches and occupancy agree on.
#pragma once

#include "emulator/devices/profiles.hpp"
#include "emulator/driver/code.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lode::emulator::driver {

/// Registers per thread as a compiler for the device would use: the executor's estimate in whole
/// allocation units, held down by the kernel's launch bounds.
int registers_of(const KernelInfo& info) noexcept;

/// After launch bounds and registers.
int max_threads_of(const KernelInfo& info) noexcept;

/// Dynamic shared memory that a launch may ask for now, in bytes.
int max_dynamic_shared_of(const KernelInfo& info, const FunctionSettings& settings) noexcept;

/// Blocks of `threads` threads with `dynamic_shared` bytes that one multiprocessor holds; 0 when
/// such a block can't run. The published formula: registers by warp and partition, shared memory
/// by block, warps and blocks by multiprocessor.
int blocks_per_multiprocessor(const Profile& profile, const KernelInfo& info,
                              const FunctionSettings& settings, int threads,
                              std::size_t dynamic_shared) noexcept;

/// Dynamic shared memory that each of `blocks` resident blocks can have; nullopt when so many
/// blocks don't fit for other reasons.
std::optional<std::size_t> dynamic_shared_for(const Profile& profile, const KernelInfo& info,
                                              int blocks, int threads) noexcept;

}  // namespace lode::emulator::driver
