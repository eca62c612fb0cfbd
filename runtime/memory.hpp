// The order that lode's waiting copies and fills keep.
#pragma once

#include "runtime/device_state.hpp"

namespace lode::detail {

/// Runs a copy or fill of the legacy default stream after everything that the device was asked to
/// do, and before everything that it will be asked to.
///
/// The default stream alone doesn't do that: it isn't ordered with non-blocking streams, which
/// lode's streams are by default, and a copy from pageable memory may return when its bytes are
/// staged, a fill or a device-side copy when it is enqueued (Driver API, "API synchronization
/// behavior"). So this waits for the device first and for the default stream afterwards.
template <class Operation>
[[nodiscard]] Status in_order_with_everything(DeviceState& device, Operation operation) {
    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(device));
    LODE_TRY(device.call(device.table().cuCtxSynchronize));
    LODE_TRY(operation());
    return device.call(device.table().cuStreamSynchronize, CUstream{nullptr});
}

}  // namespace lode::detail
