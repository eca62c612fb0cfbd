#include "runtime/state/device_checks.hpp"

#include "runtime/state/empty.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {

Result<int> read_attribute(const DriverState& driver, CUdevice device,
                           CUdevice_attribute attribute) {
    int value = 0;
    LODE_TRY(driver.call(driver.table.cuDeviceGetAttribute, &value, attribute, device));
    return value;
}

Result<std::size_t> device_limit(const DeviceState& device, CUdevice_attribute attribute) {
    LODE_TRY_ASSIGN(const int value, read_attribute(*device.driver, device.device, attribute));
    return static_cast<std::size_t>(value);
}

Status require_attribute(const DeviceState& device, CUdevice_attribute attribute,
                         std::string_view what) {
    LODE_TRY_ASSIGN(const int value, read_attribute(*device.driver, device.device, attribute));
    if (value != 0) return {};
    return fail(Errc::not_supported,
                fmt::format("{} isn't supported by {}.", what, device.describe()));
}

tl::unexpected<Error> fail_other_device(std::string_view what, const DeviceState& device,
                                        std::string_view other_what, const DeviceState& other) {
    // Both may be one device, before and after a reset.
    if (other.was_reset()) return tl::unexpected<Error>(other.lost_error());
    return fail(Errc::invalid_argument,
                fmt::format("The {} belongs to device {}, but the {} belongs to device {}.", what,
                            device.properties.ordinal, other_what, other.properties.ordinal));
}

Status check_stream_of(const DeviceState& device, StreamRef stream, std::string_view what) {
    const DeviceState* const of_stream = stream.state().device;
    if (of_stream == nullptr) return fail_empty("stream");
    if (of_stream == &device) return success();
    return fail_other_device(what, device, "stream", *of_stream);
}

Status check_one_driver(const DeviceState& device, const DeviceState& other) {
    if (device.same_driver(other)) return {};
    return fail(Errc::invalid_argument,
                fmt::format("{} and {} belong to two drivers; one can't access the other's memory.",
                            device.describe(), other.describe()));
}

Result<bool> could_access(const DeviceState& device, const DeviceState& owner) {
    const auto& entry = device.table().cuDeviceCanAccessPeer;
    LODE_TRY(device.driver->require(entry, "Peer access"));
    int possible = 0;
    LODE_TRY(device.driver->call(entry, &possible, device.device, owner.device));
    return possible != 0;
}

Status require_access(const DeviceState& device, const DeviceState& owner) {
    LODE_TRY_ASSIGN(const bool possible, could_access(device, owner));
    if (possible) return {};
    return fail(Errc::not_supported, fmt::format("{} can't access the memory of {}.",
                                                 device.describe(), owner.describe()));
}

}  // namespace LODE_NAMESPACE::detail
