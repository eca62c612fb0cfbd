// What all calls with memory pools check.
#pragma once

#include "runtime/device_state.hpp"

#include <lode/runtime/stream.hpp>

namespace lode::detail {

/// Fails if the device has no memory pools.
[[nodiscard]] Status require_pools(const DeviceState& device);
/// Fails for an empty stream and for one of another device.
[[nodiscard]] Status check_pool_stream(const DeviceState& device, StreamRef stream);

}  // namespace lode::detail
