#include "emulator/exec/compiled/region.hpp"

#include "emulator/exec/compiled/kinds.hpp"
#include "emulator/exec/scheduler.hpp"

#include <utility>

namespace lode::emulator::exec {

namespace {

constexpr u32 fewest_ops = 3;         ///< That a region saves the interpreter.
constexpr u32 most_compilations = 3;  ///< The last assumes nothing of the values.
constexpr u32 compiled_already = ~u32{0};

Region& region_of(const WarpContext& c, const Op* op) {
    const Code& code = *c.frame->code;
    const Regions& regions = *code.regions;
    return *regions.all[regions.number[static_cast<std::size_t>(op - code.ops.data())] - 1];
}

/// Compiles the region unless another worker has.
[[gnu::noinline, gnu::cold]] void compile_now(WarpContext& c, Region& region, bool again) {
    const std::lock_guard lock(region.mutex);
    RegionCode& kind = region.kinds[c.watch ? 1 : 0];
    const bool done = kind.compilations != 0 && !again;
    if (done || (again && kind.refusals.load(std::memory_order_relaxed) < most_refusals)) return;
    kind.refusals.store(0, std::memory_order_relaxed);
    if (kind.compilations == most_compilations) return;
    ++kind.compilations;
    kind.runs.store(compiled_already, std::memory_order_relaxed);
    const Code& code = *c.frame->code;
    auto made = compile(code, *code.regions, region, c, kind.compilations < most_compilations);
    if (!made) return;
    __atomic_store_n(&kind.handler, made->handler(), __ATOMIC_RELEASE);
    __atomic_store_n(&region.first->run, made->handler(), __ATOMIC_RELEASE);
    region.codes.push_back(std::move(made));
}

/// The handler of a region's first op until it is compiled.
const Op* count_runs(WarpContext& c, const Op* op) {
    Region& region = region_of(c, op);
    if (c.mask != all_lanes || c.compile_after == 0) return region.original(c, op);
    RegionCode& kind = region.kinds[c.watch ? 1 : 0];
    const u32 runs = kind.runs.load(std::memory_order_relaxed);
    if (runs == compiled_already) return region.original(c, op);
    if (runs + 1 < c.compile_after) {
        kind.runs.store(runs + 1, std::memory_order_relaxed);
        return region.original(c, op);
    }
    compile_now(c, region, false);
    const Handler now = __atomic_load_n(&kind.handler, __ATOMIC_ACQUIRE);
    return now == &count_runs ? region.original(c, op) : now(c, op);
}

bool has_target(Action action) {
    return action == Action::branch || action == Action::branch_if ||
           action == Action::branch_unless || action == Action::compare_and_branch ||
           action == Action::other_branch;
}

/// Whether an op that isn't at the end of a region is cheaper in compiled code.
bool saves(Action action) {
    return action != Action::stop && action != Action::call && action != Action::other_branch &&
           action != Action::leave && action != Action::wait;
}

}  // namespace

const Op* refused(WarpContext& c, const Op* op) {
    Region& region = region_of(c, op);
    compile_now(c, region, true);
    return region.original(c, op);
}

const Op* throw_again(WarpContext& c, const Op*) {
    c.has_thrown = false;
    std::rethrow_exception(std::exchange(c.thrown, nullptr));
}

std::shared_ptr<Regions> find_regions(Code& code) {
    const auto count = code.ops.size();
    const Op* const ops = code.ops.data();
    std::vector<bool> starts(count + 1);
    std::vector<Action> actions(count);
    starts[0] = true;
    for (std::size_t i = 0; i < count; ++i) {
        actions[i] = kind_of(ops[i].operation).action;
        if (has_target(actions[i])) starts[static_cast<std::size_t>(ops[i].target - ops)] = true;
        if (actions[i] == Action::stop || actions[i] == Action::wait) starts[i + 1] = true;
    }
    for (const auto& table : code.jump_tables) {
        for (const Op* const target : table)
            starts[static_cast<std::size_t>(target - ops)] = true;
    }
    auto made = std::make_shared<Regions>();
    made->number.resize(count);
    made->entry_function = code.function->entry;
    for (std::size_t i = 0; i < count; ++i) {
        if (!starts[i] || !saves(actions[i])) continue;
        u32 saved = 0;
        for (std::size_t k = i; k < count && saved < fewest_ops; ++k) {
            if (saves(actions[k])) {
                ++saved;
            } else if (actions[k] != Action::call) {
                break;
            }
            if (actions[k] == Action::branch) break;
        }
        if (saved < fewest_ops) continue;
        auto region = std::make_unique<Region>();
        region->first = code.ops.data() + i;
        region->original = ops[i].run;
        for (RegionCode& kind : region->kinds)
            kind.handler = &count_runs;
        made->all.push_back(std::move(region));
        made->number[i] = static_cast<u32>(made->all.size());
        code.ops[i].run = &count_runs;
    }
    if (made->all.empty()) return nullptr;
    return made;
}

}  // namespace lode::emulator::exec
