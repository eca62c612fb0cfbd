/// \file
/// Choosing a device by what a program needs, with a reason for every device, and loading one
/// kernel on several devices.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/source.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_attributes.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What makes one suitable device better than another.
enum class DevicePreference : std::uint8_t {
    most_multiprocessors,  ///< More multiprocessors.
    most_memory,           ///< More device memory.
    most_free_memory,      ///< More device memory free now; makes contexts to find out.
    highest_cc,            ///< A higher compute capability.
};

/// An attribute that a device must have, at least with this value.
struct AttributeNeed {
    DeviceAttribute attribute{};  ///< The attribute.
    int at_least = 1;             ///< The smallest value accepted; 1 means "yes" for a flag.
};

/// What a program needs of a device. Members that aren't set accept every device; the others must
/// all hold.
struct DeviceCriteria {
    ComputeCapability min_cc = {};     ///< The lowest compute capability.
    std::size_t min_memory_bytes = 0;  ///< Device memory in all.
    std::string name_contains = {};    ///< Part of the name, e.g. "H200"; case matters.
    /// A UUID as nvidia-smi prints it, or its beginning: "GPU-…", or "MIG-…" for a MIG instance.
    std::string uuid = {};
    std::string pci_id = {};                     ///< "0000:3b:00.0"; the case doesn't matter.
    bool shared_only = false;                    ///< Refuse devices that only one process may use.
    std::vector<AttributeNeed> attributes = {};  ///< Each must be met.
    /// Device memory free now. Asking makes a context on each device that meets all the rest.
    std::size_t min_free_bytes = 0;
    /// How to order the devices that meet all of this: the first preference that tells two apart
    /// decides, and in the end the lower ordinal.
    std::vector<DevicePreference> prefer = {};
};

/// A device as choose_device() sees it.
struct DeviceCandidate {
    DeviceProperties properties;  ///< For an unavailable device at least ordinal.
    /// Why the device can't be opened; empty if it can.
    std::string unavailable = {};
    /// Reads an attribute; needed if the criteria have attributes.
    std::function<Result<int>(DeviceAttribute)> attribute = {};
    /// Reads the free memory in bytes; needed if the criteria ask for it.
    std::function<Result<std::size_t>()> free_bytes = {};
};

/// What was decided about one device.
struct DeviceVerdict {
    int ordinal = 0;        ///< The device.
    std::string name;       ///< Its model; empty if it can't be opened.
    bool suitable = false;  ///< Whether it meets the criteria.
    std::string reason;     ///< Why it was or wasn't chosen: a clause such as "it has …".
};

/// The decision with its reasons.
struct DeviceChoice {
    int ordinal = 0;                      ///< The chosen device.
    std::vector<DeviceVerdict> verdicts;  ///< One for each candidate, in their order.

    /// One line per device, with its reason.
    [[nodiscard]] std::string to_string() const;
};

/// Decides among candidates; calls only their functions. Errors: no_device without candidates;
/// not_found if none is suitable, with the reason for each.
[[nodiscard]] Result<DeviceChoice> choose_device(std::span<const DeviceCandidate> candidates,
                                                 const DeviceCriteria& criteria);

/// A chosen device, open.
struct ChosenDevice {
    Device device;        ///< The device.
    DeviceChoice choice;  ///< Why it was chosen, and why the others weren't.
};

/// Decides among the visible devices of a runtime, which are those of CUDA_VISIBLE_DEVICES. Errors:
/// those of the function above; the driver's own.
[[nodiscard]] Result<ChosenDevice> choose_device(const Runtime& runtime,
                                                 const DeviceCriteria& criteria = {});

/// Loads a kernel on each device, in their order. The source is compiled once for every distinct
/// target, however many devices have it and whether or not there is a cache, and each device
/// loads the result once. All devices must be of one Runtime. Errors: those of Device::load(), of
/// the first device that fails.
[[nodiscard]] Result<std::vector<UntypedKernel>> load_on(std::span<const Device> devices,
                                                         const Source& source,
                                                         std::string_view name,
                                                         const KernelOptions& options = {});

}  // namespace LODE_NAMESPACE

LODE_API_END
