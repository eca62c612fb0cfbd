// One launch on its way to the driver: shared by kernels and prepared launches.
#pragma once

#include "runtime/state/kernel_state.hpp"

namespace LODE_NAMESPACE::detail {

/// The inputs of one launch.
struct LaunchInputs {
    const KernelState& kernel;
    CUstream stream;
    StreamState& stream_state;
    const LaunchShape& shape;
    // One of these is non-null, unless the kernel has no parameters.
    void** arguments;
    void** packed;  ///< The driver's "extra" list.
};

/// Success if the launch can go to the driver: objects that aren't empty or lost, one device, a
/// shape within the limits, attributes that device and driver accept. Opts in where necessary.
[[nodiscard]] Status check_launch(const LaunchInputs& launch);

/// Enqueues a checked launch: in the device's context if the stream needs it, with
/// cuLaunchKernelEx if there is a configuration, and waiting if every launch waits.
[[nodiscard]] Status enqueue_launch(const LaunchInputs& launch, const CUlaunchConfig* config);

}  // namespace LODE_NAMESPACE::detail
