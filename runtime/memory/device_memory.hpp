// What all copies and fills check: that there is memory and a stream, and that they fit together.
#pragma once

#include "runtime/device_state.hpp"

#include <lode/runtime/device_span.hpp>

#include <string_view>

namespace lode::detail {

/// Fails for an empty buffer or view, and for an empty stream.
[[nodiscard]] Status check_present(DeviceMemoryRef memory, const StreamRef* stream,
                                   std::string_view what = "buffer");

/// The device that does the work: the memory's, or the stream's for memory of no particular device.
[[nodiscard]] Result<DeviceState*> device_for(DeviceMemoryRef memory, const StreamRef* stream);

/// Refuses a copy between the devices of two drivers.
[[nodiscard]] Status check_same_driver(const DeviceState& to, const DeviceState& from);

/// Describes a failed allocation of device memory: the size, what is free, and the total.
[[nodiscard]] Error explain_out_of_memory(DeviceState& device, Error error, std::size_t bytes);

/// The same for page-locked host memory.
[[nodiscard]] Error explain_host_out_of_memory(Error error, std::size_t bytes);

}  // namespace lode::detail
