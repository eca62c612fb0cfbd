#include "emulator/debug/debugger.hpp"

#include "base/cxx_names.hpp"
#include "emulator/exec/lanes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::debug {

using exec::WarpContext;

namespace {

/// Whether two stacks with lines have the same one innermost.
bool is_same_line(const Stack& a, const Stack& b) {
    return a.size() == b.size() && a.front().line == b.front().line &&
           a.front().file == b.front().file;
}

/// Ends a launch that is to run once more; the executor catches it.
struct GoBack {};

}  // namespace

void Debugger::begin_launch(Memory& memory) {
    turn_.lock();
    const std::lock_guard held(mutex_);
    launch_ = nullptr;
    memory_ = &memory;
    op_number_ = 0;
    if (!is_detached_) snapshot_ = MemorySnapshot::take(memory);
    for (Watch& one : watches_) {
        // Shared and local memory are another launch's.
        if (static_cast<Window>(one.address >> window_shift) != Window::global)
            one.is_known = false;
    }
}

bool Debugger::runs_again() {
    const std::lock_guard held(mutex_);
    if (!journey_) return false;
    if (is_detached_) journey_.reset();  // It runs to its end.
    snapshot_->restore(*memory_);
    launch_ = nullptr;
    op_number_ = 0;
    for (Watch& one : watches_)
        one.is_known = false;
    return true;
}

bool Debugger::is_repeating() {
    const std::lock_guard held(mutex_);
    return journey_.has_value();
}

void Debugger::end_launch() {
    const std::lock_guard held(mutex_);
    launch_ = nullptr;
    snapshot_.reset();
    journey_.reset();
    places_.clear();
    infos_.clear();
    made_types_.clear();
    step_ = {};
    turn_.unlock();
}

void Debugger::bind(const exec::Launch& launch) {
    launch_ = &launch;
    if (places_.empty() && !breakpoints_.empty()) {
        for (const Code& code : launch.kernel->codes)
            static_cast<void>(places_of(code));
    }
    breakpoints_.bind(places_, events_.bound);
}

CodePlaces& Debugger::places_of(const Code& code) {
    const auto found =
        std::ranges::find_if(places_, [&](const auto& one) { return &one->code() == &code; });
    if (found != places_.end()) return **found;
    return *places_.emplace_back(std::make_unique<CodePlaces>(*launch_->module, code));
}

LaneView Debugger::view(WarpContext& c, const Op* op, u32 lane) {
    return {c.launch, c.block, c.warp, c.frame, op, lane};
}

void Debugger::before(WarpContext& c, const Op* op) {
    std::unique_lock held(mutex_);
    ++op_number_;
    if (is_detached_) return;
    if (journey_) return travel(held, c, op);
    const bool is_first = launch_ == nullptr;
    if (is_first) bind(*c.launch);
    const auto first = static_cast<u32>(std::countr_zero(c.mask));
    if (!watches_.empty()) try_watches(held, c, op);
    if (std::exchange(pause_, false)) return stop(held, c, op, first, {"pause", ""});
    if (is_first && stops_on_launches_)
        return stop(held, c, op, first,
                    {"entry", "launch of " + exec::brief_name(c.launch->kernel->info.name)});
    if (step_.kind != StepKind::none && ends_step(c, op))
        return stop(held, c, op, step_.thread % lanes, {"step", ""});
    try_breakpoints(held, c, op);
}

void Debugger::found(WarpContext& c, const Op* op, u32 lane, std::string_view text) {
    std::unique_lock held(mutex_);
    if (is_detached_ || journey_ || !stops_on_findings_) return;
    if (launch_ == nullptr) bind(*c.launch);
    stop(held, c, op, lane, {"exception", std::string(text)});
}

bool Debugger::is_running(const Step& step, const WarpContext& c) {
    return c.block->linear == step.block && c.warp->index == step.thread / lanes &&
           exec::bit(c.mask, step.thread % lanes);
}

bool Debugger::ends_step(WarpContext& c, const Op* op) {
    if (!is_running(step_, c)) return false;
    const Stack& here = stack_of(view(c, op, step_.thread % lanes));
    // Inlined calls count like others.
    const auto order = [](u32 depth, std::size_t inlined) { return std::pair(depth, inlined); };
    const auto now = order(c.frame->depth, here.size());
    const auto then = order(step_.depth, step_.stack.size());
    const bool is_deeper =
        step_.by_instruction ? c.frame->depth > step_.depth : now > then && !here.empty();
    if (step_.kind == StepKind::out)
        return c.frame->depth < step_.depth || (!here.empty() && now < then);
    if (is_deeper) {
        const bool is_begun =
            c.frame->depth == step_.depth || op >= places_of(*c.frame->code).begin_of_body();
        return step_.kind == StepKind::into && is_begun;
    }
    if (step_.by_instruction) return true;
    if (c.frame->depth < step_.depth) return true;
    if (here.empty()) return step_.stack.empty();
    return now < then || !is_same_line(here, step_.stack);
}

bool Debugger::holds(const Breakpoint& one, const LaneView& at) {
    if (one.condition.empty()) return true;
    const auto value = evaluate(one.condition, at);
    if (value) return is_true(*value);
    events_.output(
        fmt::format("The condition '{}' can't be evaluated: {}\n", one.condition, value.error()));
    return true;
}

u32 Debugger::lane_where_holds(const Breakpoint& one, WarpContext& c, const Op* op) {
    for (u32 lane = 0; lane < lanes; ++lane)
        if (exec::bit(c.mask, lane) && holds(one, view(c, op, lane))) return lane;
    return lanes;
}

/// "i is {i}" with the values in place of the braces.
std::string Debugger::message_at(const Breakpoint& one, const LaneView& at) {
    std::string text;
    std::string_view rest = one.message;
    for (;;) {
        const auto open = rest.find('{');
        const auto close = rest.find('}', open);
        text += rest.substr(0, open);
        if (open == rest.npos || close == rest.npos) return text + "\n";
        const auto value = evaluate(rest.substr(open + 1, close - open - 1), at);
        text += value ? text_of(*value) : value.error();
        rest.remove_prefix(close + 1);
    }
}

void Debugger::try_breakpoints(std::unique_lock<std::mutex>& held, WarpContext& c, const Op* op) {
    const auto* const here = breakpoints_.at(op);
    if (here == nullptr) return;
    StopReason why{"breakpoint", "", {}};
    u32 lane = lanes;
    for (Breakpoint* const one : *here) {
        const u32 holding = lane_where_holds(*one, c, op);
        if (holding == lanes || one->hits++ < one->ignored) continue;
        if (!one->message.empty()) {
            events_.output(message_at(*one, view(c, op, holding)));
            continue;
        }
        why.breakpoints.push_back(one->id);
        lane = std::min(lane, holding);
    }
    if (!why.breakpoints.empty()) stop(held, c, op, lane, why);
}

std::optional<Bytes> Debugger::watched(const Watch& one, WarpContext& c) const {
    LaneView at = view(c, nullptr, one.thread % lanes);
    if (static_cast<Window>(one.address >> window_shift) != Window::global) {
        if (c.block->linear != one.block || one.thread / lanes >= c.block->warp_count)
            return std::nullopt;
        at.warp = c.block->warps[one.thread / lanes].get();
    }
    return at.read(one.address, one.bytes);
}

void Debugger::try_watches(std::unique_lock<std::mutex>& held, WarpContext& c, const Op* op) {
    for (Watch& one : watches_) {
        auto now = watched(one, c);
        if (!now || (one.is_known && *now == one.last)) continue;
        const bool has_changed = std::exchange(one.is_known, true);
        one.last = *std::move(now);
        if (!has_changed) continue;
        const std::string text = one.name + " has changed";
        return stop(held, c, op, static_cast<u32>(std::countr_zero(c.mask)),
                    {"data breakpoint", text});
    }
}

void Debugger::stop(std::unique_lock<std::mutex>& held, WarpContext& c, const Op* op, u32 lane,
                    const StopReason& why) {
    step_ = {};
    stopped_ = Stop{view(c, op, lane), c.mask};
    focus_ = c.warp->index * lanes + lane;
    events_.stopped(why, focus_);
    resumed_.wait(held, [&] { return !stopped_; });
    if (journey_) throw GoBack{};
}

std::string Debugger::go_back(bool to_breakpoint, u32 index, bool by_instruction) {
    const auto at = thread(index);
    if (!at) return "The thread has exited.";
    if (!snapshot_) {
        return fmt::format(
            "The launch can't go back: the program has more than the {} MiB of "
            "memory that are kept.",
            MemorySnapshot::most >> 20);
    }
    journey_ = Journey{.from = {StepKind::over, by_instruction, at->block->linear, index,
                                at->frame->depth, stack_of(*at)},
                       .to_breakpoint = to_breakpoint,
                       .now = op_number_};
    stopped_.reset();
    resumed_.notify_all();
    return {};
}

void Debugger::travel(std::unique_lock<std::mutex>& held, WarpContext& c, const Op* op) {
    if (launch_ == nullptr) bind(*c.launch);
    Journey& journey = *journey_;
    if (journey.is_found) {
        if (op_number_ != journey.found) return;
        const u32 lane = journey.lane;
        const StopReason why{journey.to_breakpoint ? "breakpoint" : "step", "", {}};
        journey_.reset();
        return stop(held, c, op, lane, why);
    }
    if (op_number_ < journey.now) {
        if (!is_stop_of(journey, c, op)) return;
        journey.found = op_number_;
        return;
    }
    journey.is_found = true;
    if (journey.found == 0) {  // The beginning of the launch.
        journey.found = 1;
        journey.lane = 0;
    }
    throw GoBack{};
}

bool Debugger::is_stop_of(Journey& journey, WarpContext& c, const Op* op) {
    if (journey.to_breakpoint) {
        const auto* const here = breakpoints_.at(op);
        if (here == nullptr) return false;
        u32 lane = lanes;
        for (const Breakpoint* const one : *here)
            if (one->message.empty()) lane = std::min(lane, lane_where_holds(*one, c, op));
        if (lane == lanes) return false;
        journey.lane = lane;
        return true;
    }
    const Step& from = journey.from;
    journey.lane = from.thread % lanes;
    if (!is_running(from, c) || c.frame->depth > from.depth) return false;
    if (from.by_instruction) return true;
    const Stack& here = stack_of(view(c, op, journey.lane));
    if (here.empty() || here.size() > from.stack.size()) return false;
    const bool is_new = journey.last == nullptr || !is_same_line(here, *journey.last);
    journey.last = &here;
    return is_new;
}

std::vector<const Breakpoint*> Debugger::set_breakpoints(const std::string& file,
                                                         std::vector<Breakpoint> fresh) {
    auto made = breakpoints_.replace(file, std::move(fresh));
    if (launch_ != nullptr) bind(*launch_);
    return made;
}

void Debugger::resume(StepKind kind, u32 thread, bool by_instruction) {
    if (!stopped_) return;
    step_ = {};
    if (const auto at = this->thread(thread); at && kind != StepKind::none)
        step_ = {kind, by_instruction, at->block->linear, thread, at->frame->depth, stack_of(*at)};
    stopped_.reset();
    resumed_.notify_all();
}

void Debugger::detach() {
    is_detached_ = true;
    stopped_.reset();
    resumed_.notify_all();
}

std::vector<GroupView> Debugger::groups() const {
    std::vector<GroupView> all;
    if (!stopped_) return all;
    const auto add = [&](LaneView at, u32 mask, bool is_waiting) {
        if (at.warp->index == focus_ / lanes && exec::bit(mask, focus_ % lanes)) {
            at.lane = focus_ % lanes;
        } else {
            at.lane = static_cast<u32>(std::countr_zero(mask));
        }
        all.push_back({at, mask, is_waiting});
    };
    const LaneView& here = stopped_->lane;
    add(here, stopped_->mask, false);
    for (u32 k = 0; k < here.block->warp_count; ++k) {
        exec::Warp& warp = *here.block->warps[k];
        for (u32 g = 0; g < warp.count; ++g) {
            const exec::ConvergenceGroup& one = warp.groups[g];
            LaneView at = here;
            at.warp = &warp;
            at.frame = one.frame;
            const auto& ops = one.frame->code->ops;
            at.op = one.state == exec::GroupState::at_barrier ? one.pc - 1 : one.pc;
            if (at.op < ops.data() || at.op >= ops.data() + ops.size()) at.op = ops.data();
            add(at, one.mask, one.state > exec::GroupState::yielded);
        }
    }
    std::ranges::stable_sort(all, {}, [](const GroupView& one) { return index_of(one.lane); });
    return all;
}

std::optional<LaneView> Debugger::thread(u32 index) const {
    for (GroupView& one : groups()) {
        if (one.lane.warp->index != index / lanes || !exec::bit(one.mask, index % lanes)) continue;
        one.lane.lane = index % lanes;
        return one.lane;
    }
    return std::nullopt;
}

const Stack& Debugger::stack_of(const LaneView& at) {
    return places_of(at.code()).at(at.op);
}

std::vector<std::string> Debugger::inlined_names(const LaneView& at) {
    std::vector<std::string> names;
    const auto& locations = at.code().function->locations;
    const auto& strings = info_of(at).strings;
    for (u32 k = at.instruction().location; k != 0; k = locations[k].parent) {
        const auto found = strings.find(locations[k].function);
        if (found == strings.end()) break;
        names.push_back(lode::readable_name(found->second));
    }
    return names;
}

const DebugInfo& Debugger::info_of(const LaneView& at) {
    auto& info = infos_[at.launch->module];
    if (info == nullptr) info = read_debug_info(at.launch->module->text);
    return *info;
}

std::vector<const DebugVariable*> Debugger::locals(const LaneView& at) {
    std::vector<const DebugVariable*> all;
    const DebugFunction* const function = info_of(at).function(at.code().function->name);
    if (function == nullptr) return all;
    const u32 line = at.instruction().line;
    for (const Block* block = &function->body; block != nullptr;) {
        std::vector<const DebugVariable*> here;
        for (const DebugVariable& one : block->variables)
            here.push_back(&one);
        all.insert(all.begin(), here.begin(), here.end());
        const auto inner = std::ranges::find_if(
            block->blocks, [&](const Block& one) { return one.range.contains(line); });
        block = inner == block->blocks.end() ? nullptr : &*inner;
    }
    return all;
}

tl::expected<Value, std::string> Debugger::evaluate(std::string_view text, const LaneView& at) {
    Names names;
    names.made_types = &made_types_;
    names.read = [&](u64 address, u64 bytes) { return at.read(address, bytes); };
    names.find = [&](const std::string& name) -> std::optional<Value> {
        if (name.starts_with('%')) return at.find_register(name);
        const auto is_it = [&](const DebugVariable& one) { return one.name == name; };
        for (const DebugVariable* const one : locals(at))
            if (is_it(*one)) return at.variable(*one);
        for (const DebugVariable& one : info_of(at).globals)
            if (is_it(one)) return at.variable(one);
        // NVRTC describes no variable in shared memory that a function declares.
        for (auto& [symbol, value] : at.symbols(made_types_))
            if (symbol == name) return std::move(value);
        return at.find_builtin(name);
    };
    names.find_type = [&](const std::string& name) -> const Type* {
        for (const Type& one : info_of(at).types)
            if (one.name == name && one.kind != TypeKind::alias) return &one;
        return nullptr;
    };
    return debug::evaluate(text, names);
}

}  // namespace lode::emulator::debug
