// What all calls with memory pools check.
#pragma once

#include "runtime/state/device_state.hpp"

namespace LODE_NAMESPACE::detail {

/// Fails if the device has no memory pools.
[[nodiscard]] Status require_pools(const DeviceState& device);

}  // namespace LODE_NAMESPACE::detail
