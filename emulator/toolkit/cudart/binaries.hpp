// The code and variables that a program registers: its fat binaries, and what host pointers stand
// for.
#pragma once

#include "emulator/toolkit/cudart/runtime.hpp"

#include <cstddef>

namespace lode::emulator::cudart {

/// The kernel that a host function, or a kernel of the driver in its place, stands for. Loads its
/// binary on first use. INVALID_DEVICE_FUNCTION if there is none; the error of the load.
cudaError_t kernel_of(const void* function, CUkernel& kernel) noexcept;
/// The same in the current context.
cudaError_t function_of(const void* function, CUfunction& found) noexcept;

/// The registered host function of a kernel; the kernel itself if there is none.
const void* host_of(CUkernel kernel) noexcept;

/// A variable's address in the current context.
struct Symbol {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
};
/// cudaErrorInvalidSymbol if the pointer isn't that of a registered variable.
cudaError_t symbol_of(const void* variable, Symbol& symbol) noexcept;
/// The part of a variable from `offset` on. cudaErrorInvalidValue if it isn't within the variable.
cudaError_t part_of(const void* variable, std::size_t offset, std::size_t bytes,
                    CUdeviceptr& found) noexcept;

}  // namespace lode::emulator::cudart
