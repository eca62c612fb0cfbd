// What a launch's grid, blocks and shared memory may be.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/launch/launch_attributes.hpp"

namespace lode::emulator::driver {

/// Whether the function can be launched so. `attributes` may be null. Errors: INVALID_VALUE,
/// LAUNCH_OUT_OF_RESOURCES, INVALID_CLUSTER_SIZE, COOPERATIVE_LAUNCH_TOO_LARGE.
CUresult check_shape(const Function& function, const exec::GridShape& shape,
                     const LaunchAttributes* attributes, bool cooperative);

}  // namespace lode::emulator::driver
