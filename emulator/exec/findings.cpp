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
    if (!launch.told.emplace(op, kind).second) return false;
    return launch.told_of_kind[static_cast<std::size_t>(kind)]++ < launch.options->most_findings;
}

void tell_finding(WarpContext& c, const Op* op, u32 lane, Finding kind, std::string_view what) {
    Launch& launch = *c.launch;
    FindingReport report = report_at(launch, *c.warp, lane, op, c.frame);
    report.kind = name_of(kind);
    report.benign = kind == Finding::benign_race;
    report.text = fmt::format("Kernel {} {}; {}.", launch.kernel->info.name, what,
                              place_of(launch, *c.warp, lane, op, c.frame));
    const std::lock_guard lock(launch.mutex);
    launch.options->finding(report);
}

FindingReport report_at(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                        const Frame* frame) {
    FindingReport report;
    report.kernel = launch.kernel->info.name;
    report.thread = thread_of(warp, lane);
    report.block = warp.block->index;
    const ptx::Instruction& at = frame->code->instruction(op);
    report.ptx_line = at.line;
    const auto& locations = frame->code->function->locations;
    for (u32 k = at.location; k != 0; k = locations[k].parent) {
        const auto file = launch.module->ast.files.find(locations[k].file);
        report.stack.push_back(
            {file != launch.module->ast.files.end() ? std::string(file->second) : std::string("?"),
             locations[k].line});
    }
    return report;
}

std::string_view name_of(Finding kind) noexcept {
    switch (kind) {
        case Finding::race:
            return "race";
        case Finding::benign_race:
            return "benign-race";
        case Finding::unwritten:
            return "unwritten";
        case Finding::member_masks:
            return "member-masks";
        case Finding::absent_lane:
            return "absent-lane";
        case Finding::divergent_barrier:
            return "divergent-barrier";
        case Finding::barrier_count:
            return "barrier-count";
        case Finding::mbarrier:
            return "mbarrier";
        case Finding::count:
            break;
    }
    return "";
}

}  // namespace lode::emulator::exec
