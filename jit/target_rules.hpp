// The rules that both decisions of the arch ladder share: why a driver, a linker or a device
// refuses some code. Each returns the reason, or nullopt if it doesn't refuse.
#pragma once

#include <lode/jit/target.hpp>

#include <optional>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::target_rules {

/// Machine code of a toolkit (0: unknown) on the driver.
std::optional<std::string> refuses_cubin(int toolkit_version, const ToolProperties& tools);

/// PTX on the driver. `needs` is the CUDA release that the PTX needs, 0 if unknown.
std::optional<std::string> refuses_ptx(int needs, const ToolProperties& tools);

/// PTX linked by nvJitLink for a device.
std::optional<std::string> refuses_link(int needs, ComputeCapability device,
                                        const ToolProperties& tools);

/// What a toolkit of this version makes code for; ascending.
std::vector<ComputeCapability> capabilities_of(int toolkit_version);

/// Code for `arch` on the device, by the compatibility rules.
std::optional<std::string> refuses_device(const Arch& arch, ComputeCapability device);

/// Plain sm_120 code on 12.1: allowed by the rules, but known to fail.
bool is_doubtful(const Arch& arch, ComputeCapability device) noexcept;

/// A sentence that says how to run PTX that the driver, of known version, refuses.
std::string cure_for_ptx(int needs, const ToolProperties& tools);

/// "a driver of CUDA 12.2", or "a driver of unknown version".
std::string driver_text(const ToolProperties& tools);

}  // namespace LODE_NAMESPACE::target_rules
