// Machine-dependent flags of a compilation: the target, and switches that protect the host process.
#pragma once

#include "jit/nvrtc/library.hpp"

#include <lode/base/arch.hpp>

#include <string>
#include <vector>

namespace lode {

/// The target, and the switches that keep NVRTC from using its own cache (which opens the driver)
/// and from changing the process's stack limit.
std::vector<std::string> machine_flags(const NvrtcLibrary& nvrtc, const Arch& arch);

}  // namespace lode
