// The attributes of kernel nodes of graphs.
#pragma once

#include "emulator/driver/abi.hpp"

#include <map>
#include <vector>

namespace lode::emulator::driver {

/// Those that were set, with valid values.
using KernelAttributes = std::map<CUlaunchAttributeID, CUlaunchAttributeValue>;

/// Whether kernel nodes have the attribute.
[[nodiscard]] bool is_kernel_attribute(CUlaunchAttributeID id) noexcept;
/// As a launch has them.
[[nodiscard]] std::vector<CUlaunchAttribute> listed(const KernelAttributes& attributes);
/// Those of a captured launch, without the attributes that only launches have.
[[nodiscard]] KernelAttributes captured_attributes(const CUlaunchConfig* config, bool cooperative,
                                                   int priority);

}  // namespace lode::emulator::driver
