// Debugger: stops launches at breakpoints, after steps and at findings, and shows where they are.
//
// One thread runs a kernel and calls before() at every op. Another one serves a user's requests. A
// stopped launch waits in before() or found(); the other thread may then look at it.
#pragma once

#include "emulator/debug/breakpoints.hpp"
#include "emulator/debug/expression.hpp"
#include "emulator/debug/lane_view.hpp"
#include "emulator/debug/memory_snapshot.hpp"
#include "emulator/exec/debug_hook.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lode::emulator::debug {

enum class StepKind : u8 { none, over, into, out };

/// Lanes of a block at one op.
struct GroupView {
    LaneView lane;  ///< The one in focus if it is among them, otherwise the first.
    u32 mask = 0;
    bool is_waiting = false;  ///< At a barrier or a warp operation.
};

/// Why a launch has stopped, in the words of the Debug Adapter Protocol.
struct StopReason {
    std::string reason;  ///< "breakpoint", "step", "pause", "exception", "data breakpoint", "entry"
    std::string text;    ///< More about it; may be empty.
    std::vector<u32> breakpoints = {};  ///< Their ids.
};

/// Bytes that a debugger watches for changes.
struct Watch {
    std::string name;
    u64 address = 0;  ///< Generic.
    u64 bytes = 0;
    u64 block = 0;  ///< The linear block, thread and lane whose shared or local memory it is.
    u32 thread = 0;
    Bytes last = {};
    bool is_known = false;  ///< `last` has been read.
};

/// What happens: the receiver must not call the debugger.
struct Events {
    std::function<void(const StopReason&, u32 thread)> stopped;
    std::function<void(const Breakpoint&)> bound;
    std::function<void(std::string_view text)> output;
};

class Debugger final : public exec::DebugHook {
public:
    explicit Debugger(Events events) : events_(std::move(events)) {}

    // For the thread that launches.
    /// Waits until another thread's launch has ended. `memory` outlives the launch.
    void begin_launch(Memory& memory);
    /// Whether the launch is to run once more, because the user goes back in it; its memory is then
    /// what it was.
    [[nodiscard]] bool runs_again();
    /// Whether it repeats what it has done: nobody is to be told.
    [[nodiscard]] bool is_repeating();
    void end_launch();
    void before(exec::WarpContext& context, const Op* op) override;
    void found(exec::WarpContext& context, const Op* op, u32 lane, std::string_view text) override;

    // For the thread that serves requests, which holds the lock while it uses what it gets.
    [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
    std::vector<const Breakpoint*> set_breakpoints(const std::string& file,
                                                   std::vector<Breakpoint> fresh);
    void set_watches(std::vector<Watch> watches) { watches_ = std::move(watches); }
    void stop_on(bool findings, bool launches) noexcept {
        stops_on_findings_ = findings;
        stops_on_launches_ = launches;
    }
    void pause() noexcept { pause_ = true; }
    /// Goes on. A step is that of `thread`; `by_instruction` ends it after one instruction.
    void resume(StepKind kind, u32 thread, bool by_instruction);
    /// Goes back: by a line or an instruction of the thread `index`, over calls, or to the last
    /// breakpoint before. The launch begins again and stops there. Returns why that can't be done,
    /// as a sentence, or an empty text.
    [[nodiscard]] std::string go_back(bool to_breakpoint, u32 index, bool by_instruction);
    /// Goes on for good: nothing stops any more.
    void detach();

    [[nodiscard]] bool is_stopped() const noexcept { return stopped_.has_value(); }
    /// The groups of lanes in the block that has stopped.
    [[nodiscard]] std::vector<GroupView> groups() const;
    /// A thread of that block, by its linear index; nothing if it has exited or doesn't exist.
    [[nodiscard]] std::optional<LaneView> thread(u32 index) const;
    /// The linear index in the block.
    [[nodiscard]] static u32 index_of(const LaneView& lane) noexcept {
        return lane.warp->index * lanes + lane.lane;
    }
    [[nodiscard]] u32 focus() const noexcept { return focus_; }
    void set_focus(u32 thread) noexcept { focus_ = thread; }
    [[nodiscard]] const Stack& stack_of(const LaneView& at);
    /// The functions whose code is inlined at an op, the innermost first.
    [[nodiscard]] std::vector<std::string> inlined_names(const LaneView& at);
    [[nodiscard]] const DebugInfo& info_of(const LaneView& at);
    [[nodiscard]] std::vector<std::pair<std::string, Value>> symbols(const LaneView& at) {
        return at.symbols(made_types_);
    }
    /// The variables that are visible at an op, the innermost first.
    [[nodiscard]] std::vector<const DebugVariable*> locals(const LaneView& at);
    [[nodiscard]] tl::expected<Value, std::string> evaluate(std::string_view text,
                                                            const LaneView& at);

private:
    struct Stop {
        LaneView lane;
        u32 mask = 0;
    };
    struct Step {
        StepKind kind = StepKind::none;
        bool by_instruction = false;
        u64 block = 0;
        u32 thread = 0;
        u32 depth = 0;
        Stack stack = {};
    };

    /// A way back. The first run finds where it ends, the second one stops there.
    struct Journey {
        Step from;
        bool to_breakpoint = false;
        u64 now = 0;  ///< The number of the op that it begins at.
        /// What the first run has found so far: the number of an op, and the lane; 0: nothing.
        u64 found = 0;
        u32 lane = 0;
        bool is_found = false;        ///< The second run.
        const Stack* last = nullptr;  ///< Where the thread was last, in the first run.
    };

    /// During a journey: notes an op, or stops there.
    void travel(std::unique_lock<std::mutex>& held, exec::WarpContext& c, const Op* op);
    [[nodiscard]] bool is_stop_of(Journey& journey, exec::WarpContext& c, const Op* op);
    void bind(const exec::Launch& launch);
    [[nodiscard]] static LaneView view(exec::WarpContext& c, const Op* op, u32 lane);
    /// Whether the thread of a step is among the lanes that run.
    [[nodiscard]] static bool is_running(const Step& step, const exec::WarpContext& c);
    [[nodiscard]] bool ends_step(exec::WarpContext& c, const Op* op);
    /// Stops at an op's breakpoints whose conditions hold.
    void try_breakpoints(std::unique_lock<std::mutex>& held, exec::WarpContext& c, const Op* op);
    /// Whether a condition holds; true with a line of output if it can't be evaluated.
    [[nodiscard]] bool holds(const Breakpoint& one, const LaneView& at);
    /// The first lane that runs for which it holds; `lanes` if there is none.
    [[nodiscard]] u32 lane_where_holds(const Breakpoint& one, exec::WarpContext& c, const Op* op);
    [[nodiscard]] std::string message_at(const Breakpoint& one, const LaneView& at);
    void try_watches(std::unique_lock<std::mutex>& held, exec::WarpContext& c, const Op* op);
    [[nodiscard]] std::optional<Bytes> watched(const Watch& one, exec::WarpContext& c) const;
    void stop(std::unique_lock<std::mutex>& held, exec::WarpContext& c, const Op* op, u32 lane,
              const StopReason& why);
    [[nodiscard]] CodePlaces& places_of(const Code& code);

    std::mutex turn_;  ///< Held during a launch.
    std::mutex mutex_;
    std::condition_variable resumed_;
    const Events events_;
    Breakpoints breakpoints_;
    std::vector<Watch> watches_;
    bool stops_on_findings_ = true;
    bool stops_on_launches_ = false;
    bool pause_ = false;
    bool is_detached_ = false;
    Step step_;
    u32 focus_ = 0;
    std::optional<Stop> stopped_;
    std::optional<Journey> journey_;

    // What belongs to the launch that runs.
    const exec::Launch* launch_ = nullptr;
    Memory* memory_ = nullptr;
    std::optional<MemorySnapshot> snapshot_;
    u64 op_number_ = 0;  ///< How many ops it has begun.
    std::deque<std::unique_ptr<CodePlaces>> places_;
    std::map<const ModuleParts*, std::unique_ptr<DebugInfo>> infos_;
    std::deque<Type> made_types_;
};

}  // namespace lode::emulator::debug
