// Reads a device's identity and limits from the driver.
#pragma once

#include "runtime/driver/driver_state.hpp"

#include <lode/runtime/device.hpp>

namespace LODE_NAMESPACE::detail {

/// Reads all DeviceProperties of the device with this ordinal. Needs no context.
[[nodiscard]] Result<DeviceProperties> read_properties(const DriverState& driver, int ordinal);

}  // namespace LODE_NAMESPACE::detail
