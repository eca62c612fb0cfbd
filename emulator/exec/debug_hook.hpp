// DebugHook: what a debugger is told of a launch.
#pragma once

#include "emulator/exec/warp_context.hpp"

#include <string_view>

namespace lode::emulator::exec {

class DebugHook {
public:
    virtual ~DebugHook() = default;
    /// Before an op of the lanes in WarpContext::mask.
    virtual void before(WarpContext& context, const Op* op) = 0;
    /// A lane's finding or fault at the running op. `text` is that of its report.
    virtual void found(WarpContext& context, const Op* op, u32 lane, std::string_view text) = 0;
};

}  // namespace lode::emulator::exec
