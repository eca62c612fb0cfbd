// The rules that both decisions of the arch ladder share: why a driver, a linker or a device
// refuses some code. Each gives the reason, or nullopt where nothing speaks against it.
#pragma once

#include <lode/jit/target.hpp>

#include <optional>
#include <string>

namespace lode::target_rules {

/// Machine code made by a toolkit (0: unknown) on the driver.
std::optional<std::string> refuses_cubin(int toolkit_version, const ToolFacts& tools);

/// PTX on the driver. `needs` is the CUDA release that the PTX asks for, 0 when unknown.
std::optional<std::string> refuses_ptx(int needs, const ToolFacts& tools);

/// PTX through nvJitLink for a device.
std::optional<std::string> refuses_link(int needs, ComputeCapability device,
                                        const ToolFacts& tools);

/// Code for `arch` on the device, by the compatibility rules.
std::optional<std::string> refuses_device(const Arch& arch, ComputeCapability device);

/// Plain sm_120 code on 12.1: allowed by the rules, seen to fail.
bool is_doubtful(const Arch& arch, ComputeCapability device) noexcept;

/// The sentence that says how to get PTX past the driver, whose version is known.
std::string cure_for_ptx(int needs, const ToolFacts& tools);

/// "a driver of CUDA 12.2", or "a driver of unknown version".
std::string driver_text(const ToolFacts& tools);

}  // namespace lode::target_rules
