// Functions in calls: a CUfunction, or a CUkernel in its place.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/code.hpp"

#include <memory>

namespace lode::emulator::driver {

/// Resolves a CUkernel in `context`, or in the current context if that is null. Errors:
/// INVALID_HANDLE, INVALID_CONTEXT, and those of loading.
CUresult resolve_function(CUfunction handle, Context* context, std::shared_ptr<Function>& function);

}  // namespace lode::emulator::driver
