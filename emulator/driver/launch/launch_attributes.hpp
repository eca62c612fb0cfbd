// Attributes of launches and of streams: what the driver accepts, and what a launch does with them.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/stream/stream.hpp"

#include <memory>
#include <vector>

namespace lode::emulator::driver {

/// The attributes that affect a launch here. The others are hints, or properties that every launch
/// on this device has.
struct LaunchAttributes {
    bool cooperative = false;
    Dim3 cluster{0, 0, 0};                       ///< Zeros if there is none.
    std::vector<std::shared_ptr<Event>> events;  ///< Recorded after the kernel.
    /// CUlaunchAttributePortableClusterMode and CUsharedMemoryMode; 0: as the function is set.
    unsigned cluster_mode = 0, shared_memory_mode = 0;
};

/// Checks the attributes of a launch in `context` and reads those that matter. Errors:
/// INVALID_VALUE for values outside their ranges; INVALID_HANDLE for an event that isn't live or is
/// of another context; NOT_SUPPORTED for attributes of graphs.
CUresult read_launch_attributes(const CUlaunchConfig& config, const Context& context,
                                LaunchAttributes& attributes);

/// Checks the value of an attribute that streams have. Errors: INVALID_VALUE.
CUresult check_stream_attribute(const Device& device, CUlaunchAttributeID id,
                                const CUlaunchAttributeValue& value);

}  // namespace lode::emulator::driver
