// Stream order of lode's synchronous copies and fills.
#pragma once

#include "runtime/state/device_state.hpp"

#include <lode/runtime/stream.hpp>

namespace LODE_NAMESPACE::detail {

/// Runs a copy or fill on the legacy default stream, after all work already submitted to the device
/// and before all work submitted later.
///
/// The default stream alone doesn't guarantee that: it isn't ordered with non-blocking streams,
/// which lode's streams are by default. A copy from pageable memory may return once its bytes are
/// staged, and a fill or a device-to-device copy once it is enqueued (Driver API, "API
/// synchronization behavior"). So this waits for the device first and for the default stream
/// afterwards.
template <class Operation>
[[nodiscard]] Status in_order_with_everything(DeviceState& device, Operation operation) {
    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(device));
    LODE_TRY(device.call(device.table().cuCtxSynchronize));
    LODE_TRY(operation());
    return device.call(device.table().cuStreamSynchronize, CUstream{nullptr});
}

/// Calls `later` on the stream or, without one, `now` in order with all work of the device.
template <class Now, class Later, class... Arguments>
[[nodiscard]] Status copy_in_order(DeviceState& device, const StreamRef* stream,
                                   const EntryPoint<Now>& now, const EntryPoint<Later>& later,
                                   Arguments... arguments) {
    if (stream != nullptr)
        return call_on_stream(stream->state(), later, arguments..., stream->native());
    return in_order_with_everything(device, [&] { return device.call(now, arguments...); });
}

}  // namespace LODE_NAMESPACE::detail
