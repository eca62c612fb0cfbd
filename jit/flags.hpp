// The flags of one compilation that depend on the machine: target, toolkit, host citizenship.
#pragma once

#include "jit/nvrtc/library.hpp"

#include <lode/base/arch.hpp>

#include <string>
#include <vector>

namespace lode {

/// The target, and the switches that keep NVRTC's hands off the host: its own cache (which opens
/// the driver) and the process's stack limit.
std::vector<std::string> machine_flags(const NvrtcLibrary& nvrtc, const Arch& arch);

}  // namespace lode
