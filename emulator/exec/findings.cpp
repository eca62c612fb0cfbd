// Describes places in a kernel, and reports the findings of checks that don't stop the kernel.
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

Dim3 thread_of(const Warp& warp, u32 lane) {
    const auto at = [&](u32 offset) {
        return reinterpret_cast<const u32*>(warp.specials + offset)[lane];
    };
    return {at(tid_x), at(tid_y), at(tid_z)};
}

}  // namespace

std::string place_of(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                     const Frame* frame) {
    const Dim3 thread = thread_of(warp, lane);
    const Dim3 block = warp.block->index;
    const ptx::Instruction& at = frame->code->instruction(op);
    std::string text = fmt::format("thread ({},{},{}) of block ({},{},{})", thread.x, thread.y,
                                   thread.z, block.x, block.y, block.z);
    if (frame->depth > 0) text += fmt::format(", in {}", frame->code->function->name);
    const std::string source = source_place(*launch.module, *frame->code, at);
    if (!source.empty()) text += ", " + source;
    return text + fmt::format(", PTX line {}", at.line);
}

bool is_new_finding(WarpContext& c, const Op* op, Finding kind) {
    Launch& launch = *c.launch;
    if (kind != Finding::benign_race) launch.findings.fetch_add(1);
    if (!launch.options->finding) return false;
    const std::lock_guard lock(launch.mutex);
    return launch.told.emplace(op, kind).second;
}

void tell_finding(WarpContext& c, const Op* op, u32 lane, Finding, std::string_view what) {
    Launch& launch = *c.launch;
    const std::lock_guard lock(launch.mutex);
    const std::string text = fmt::format("Kernel {} {}; {}.", launch.kernel->info.name, what,
                                         place_of(launch, *c.warp, lane, op, c.frame));
    launch.options->finding(text);
}

}  // namespace lode::emulator::exec
