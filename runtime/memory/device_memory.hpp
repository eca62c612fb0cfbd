// What all copies and fills check: that there is memory and a stream, and that they fit together.
#pragma once

#include "runtime/state/device_checks.hpp"
#include "runtime/state/in_order.hpp"

#include <lode/runtime/device_span.hpp>

#include <string_view>

namespace LODE_NAMESPACE::detail {

/// Fails for an empty buffer or view, and for an empty stream.
[[nodiscard]] Status check_present(DeviceMemoryRef memory, const StreamRef* stream,
                                   std::string_view what = "buffer");

/// The device that does the work: the memory's, or the stream's for memory of no particular device.
[[nodiscard]] Result<DeviceState*> device_for(DeviceMemoryRef memory, const StreamRef* stream);

/// Refuses a copy between the devices of two drivers, and one from memory that a reset has freed.
[[nodiscard]] Status check_same_driver(const DeviceState& to, const DeviceState& from);

/// A copy between two devices of one driver: `later` on a stream of either device or, without one,
/// `now` in order with all work of both.
template <class Now, class Later, class... Arguments>
[[nodiscard]] Status copy_to_peer(DeviceState& target, DeviceState& source, const StreamRef* stream,
                                  const EntryPoint<Now>& now, const EntryPoint<Later>& later,
                                  Arguments... arguments) {
    if (stream != nullptr) {
        if (stream->state().device != &source) LODE_TRY(check_stream_of(target, *stream, "memory"));
        return copy_in_order(target, stream, now, later, arguments...);
    }
    return in_order_with_everything(
        source, [&] { return copy_in_order(target, stream, now, later, arguments...); });
}

/// Describes a failed allocation of device memory: the size, what is free, and the total. `limit`
/// says what else than the free memory may have stopped it.
[[nodiscard]] Error explain_out_of_memory(DeviceState& device, Error error, std::size_t bytes,
                                          std::string_view limit = {});

/// The same for page-locked host memory.
[[nodiscard]] Error explain_host_out_of_memory(Error error, std::size_t bytes);

}  // namespace LODE_NAMESPACE::detail
