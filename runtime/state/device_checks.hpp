// What calls check about devices: attributes, and which device and driver something belongs to.
#pragma once

#include "runtime/state/device_state.hpp"

#include <lode/runtime/stream.hpp>

#include <string_view>

#include <cuda.h>

namespace LODE_NAMESPACE::detail {

/// The value of a device attribute.
[[nodiscard]] Result<int> read_attribute(const DriverState& driver, CUdevice device,
                                         CUdevice_attribute attribute);
/// The value of an attribute that is a limit.
[[nodiscard]] Result<std::size_t> device_limit(const DeviceState& device,
                                               CUdevice_attribute attribute);
/// not_supported unless the attribute isn't 0: "`what` isn't supported by device 0 …".
[[nodiscard]] Status require_attribute(const DeviceState& device, CUdevice_attribute attribute,
                                       std::string_view what);

/// "The memory belongs to device 0, but the stream belongs to device 1."
[[nodiscard]] tl::unexpected<Error> fail_other_device(std::string_view what,
                                                      const DeviceState& device,
                                                      std::string_view other_what,
                                                      const DeviceState& other);
/// Refuses an empty stream, and one of another device than `device`, to which `what` belongs.
[[nodiscard]] Status check_stream_of(const DeviceState& device, StreamRef stream,
                                     std::string_view what);

/// Refuses two devices that were opened through two drivers.
[[nodiscard]] Status check_one_driver(const DeviceState& device, const DeviceState& other);
/// Whether kernels on a device could access the memory of `owner`, another device of its driver.
[[nodiscard]] Result<bool> could_access(const DeviceState& device, const DeviceState& owner);
/// not_supported unless they could.
[[nodiscard]] Status require_access(const DeviceState& device, const DeviceState& owner);

}  // namespace LODE_NAMESPACE::detail
