// Describes places in a kernel, and reports the findings of checks that don't stop the kernel.
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/checks/race/cells.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

EarlierPlace earlier_place(const Launch& launch, u8 site, bool wrote) {
    constexpr std::size_t most = 3;
    EarlierPlace place;
    if (site == 0) return place;
    std::vector<std::string> texts;
    for (const Code& code : launch.kernel->codes) {
        for (const Op& op : code.ops) {
            if (op.cache == 0 || site_of(op.cache) != site) continue;
            const ptx::Instruction& at = code.instruction(&op);
            const bool only_reads =
                at.traits.action == ptx::Action::load || at.reading->name() == "ldmatrix";
            const bool only_writes = at.reading->name() == "st";
            if (wrote ? only_reads : only_writes) continue;
            std::string text = source_place(*launch.module, code, at);
            if (text.empty()) text = fmt::format("PTX line {}", at.line);
            if (std::ranges::find(texts, text) != texts.end()) continue;
            place.stack = source_stack(*launch.module, code, at);
            texts.push_back(std::move(text));
        }
    }
    if (texts.size() != 1) place.stack.clear();
    if (texts.empty() || texts.size() > most) return place;
    place.text = fmt::format(" at {}", fmt::join(texts, " or "));
    return place;
}

EarlierPlace place_of_op(const Launch& launch, const Code& code, const Op* op) {
    const ptx::Instruction& at = code.instruction(op);
    std::string text = source_place(*launch.module, code, at);
    if (text.empty()) text = fmt::format("PTX line {}", at.line);
    return {" at " + text, source_stack(*launch.module, code, at)};
}

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
    if (!launch.reported.emplace(op, kind).second) return false;
    return launch.reported_of_kind[static_cast<std::size_t>(kind)]++ <
           launch.options->most_findings;
}

void report_finding(WarpContext& c, const Op* op, u32 lane, Finding kind, std::string_view what,
                    std::vector<SourcePlace> earlier) {
    Launch& launch = *c.launch;
    FindingReport report = report_at(launch, *c.warp, lane, op, c.frame);
    report.kind = name_of(kind);
    report.earlier = std::move(earlier);
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
    report.stack = source_stack(*launch.module, *frame->code, at);
    return report;
}

std::string_view name_of(Finding kind) noexcept {
    static constexpr std::string_view names[] = {
        "race",        "benign-race",       "unwritten",     "member-masks",
        "absent-lane", "divergent-barrier", "barrier-count", "mbarrier",
        "proxy-fence", "wgmma-wait",        "wgmma-fence"};
    static_assert(std::size(names) == static_cast<std::size_t>(Finding::count));
    return names[static_cast<std::size_t>(kind)];
}

}  // namespace lode::emulator::exec
