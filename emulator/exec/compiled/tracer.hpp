// Compiles one region: its path, what is assumed of the values at its start, code for each op,
// exits.
#pragma once

#if defined(__x86_64__)

#include "emulator/exec/compiled/kinds.hpp"
#include "emulator/exec/compiled/values.hpp"

#include <deque>
#include <map>
#include <set>

namespace lode::emulator::exec {

class Tracer : public Values, public MachineCode {
public:
    Tracer(const Code& code, const Regions& regions, const Region& region,
           const WarpContext& context);

    /// False if the code wouldn't be faster than the interpreter.
    bool run(bool assume);
    [[nodiscard]] Handler handler() const noexcept override { return getCode<Handler>(); }

private:
    struct Step {
        const Op* op = nullptr;
        Kind kind;
        u32 before = 0;  ///< Instructions of the steps before it, without the region's first.
        u32 side = 0;    ///< The trace that goes on where a branch is taken; 0: none.
    };
    /// A way through the region: the first takes no conditional branch, the others begin where one
    /// is taken.
    struct Trace {
        std::vector<Step> steps;
        const Op* end = nullptr;  ///< Where it ends; null after a branch back.
    };
    struct Exit {
        Xbyak::Label label;
        const Op* target = nullptr;  ///< Null: rax has it.
        u32 instructions = 0;
        std::vector<Pending> pending;
        bool refuses = false;  ///< At the first op: the interpreter is to run it.
        bool flushing = false;
    };
    /// A branch that is taken by all lanes, or by some.
    struct Taken {
        Xbyak::Label label;
        const Step* step = nullptr;
        bool conditional = false;
        State state;
        std::vector<Pending> pending;
        Xbyak::Label* partly = nullptr;  ///< The exit to the op itself.
    };
    /// Where a loop begins.
    struct Head {
        Xbyak::Label label;
        State state;
        u32 before = 0;  ///< As Step::before.
    };
    using Wanted = std::map<Slot, bool>;  ///< Whether they have 64 bits.

    void find_traces();
    /// Adds the steps from an op on.
    void follow(Trace& trace, const Op* op, u32 before);
    /// Values at the start of steps that addresses are made of, or by which loops are counted.
    [[nodiscard]] Wanted find_wanted(std::span<const Step> steps) const;
    void emit_start();
    void emit_guard(Slot slot, const Shape& shape, bool wide);
    void emit_trace(const Trace& trace);
    /// False if the loop is better left to its own region, which knows more.
    bool emit_head(std::span<const Step> steps);
    void emit_end();
    void emit_epilogue();

    /// The label of an exit to the op of a step, in the current state.
    Xbyak::Label& exit_at(const Step& step);
    Exit& add_exit(const Op* target, u32 instructions);
    void emit_exit(Exit& exit);
    void emit_taken(Taken& taken);
    /// Instructions up to and with a step.
    [[nodiscard]] u32 instructions_with(const Step& step) const;
    /// Whether ops from `at` on may read a value.
    bool is_live(const Pending& value, const Op* at);
    bool is_needed(Slot slot) override;
    [[nodiscard]] std::vector<Pending> pending_at(const Op* target);

    void emit_step(const Step& step);
    bool emit_scalar(const Step& step);
    void emit_rows(const Step& step);
    void emit_predicate(const Step& step);
    /// Conversions, products and sums of which a side doesn't have 32 bits.
    bool emit_wide_scalar(const Step& step);
    void emit_wide_rows(const Step& step);
    /// Makes rax an index of 32 bits, after a test that the others of the warp don't wrap.
    void emit_widened(const Scalar& index, bool is_signed, Xbyak::Label& exit);
    void emit_select(const Step& step);
    void emit_shuffle(const Step& step);
    void emit_fixed_shuffle(const Step& step);
    void emit_call(const Step& step);
    void emit_access(const Step& step);
    void emit_address(const Step& step, const Scalar& index, const Shape& shape);
    void emit_prefetch(u32 bytes);
    void emit_note(const Step& step, bool run);
    void emit_load(const Step& step, bool run);
    /// Loads from, or stores to, rax plus what a shape adds to its lowest offset.
    void emit_shaped_load(const Step& step, const Shape& shape);
    void emit_shaped_store(const Step& step, const Shape& shape);
    void emit_store(const Step& step);
    void emit_atomic(const Step& step);
    void emit_note_sums(const Step& step, Xbyak::Label& exit);
    /// Makes eax the mask of the lanes for which a comparison holds, and stores it.
    void emit_comparison(const Step& step);
    bool emit_number_comparison(const Step& step);
    bool emit_number_branch(const Step& step);
    /// Jumps if the last two numbers that were compared are in this relation.
    void jump_where(Compare holds, const Xbyak::Label& to);
    void emit_lanes(const Xbyak::Ymm& to, const Scalar& value, u32 q);
    [[nodiscard]] bool is_first(const Step& step) const {
        return &step == traces_.front().steps.data();
    }
    void emit_branch(const Step& step);
    Taken& add_taken(const Step& step, bool conditional);

    const Regions& regions_;
    const Region& region_;
    std::deque<Trace> traces_;
    const Op* here_ = nullptr;  ///< The op for which code is emitted.
    std::size_t step_count_ = 0;
    bool loops_ = false;            ///< A branch leads to the region's first op.
    bool flushes_ = false;          ///< A step does.
    std::set<const Op*> loops_to_;  ///< Targets of branches back.
    std::map<const Op*, Head> heads_;
    std::deque<Exit> exits_;
    std::deque<Taken> taken_;
    std::map<std::pair<const Op*, Slot>, bool> live_;
    Xbyak::Label constants_, checked_, guards_, refuse_, leave_, leave_called_;
};

}  // namespace lode::emulator::exec

#endif
