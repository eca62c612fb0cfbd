// References to the primary context of a device.
#pragma once

#include "emulator/driver/abi.hpp"

namespace lode::emulator::driver {

struct Device;

/// Adds a reference; the first one opens the context, as does the first after a reset.
void retain_primary(Device& device);
/// Drops a reference; the last one ends the context. INVALID_CONTEXT if there is none.
CUresult release_primary(Device& device);

}  // namespace lode::emulator::driver
