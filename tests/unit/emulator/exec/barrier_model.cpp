#include "tests/unit/emulator/exec/barrier_programs.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace lode::emulator::exec::testing::barriers {

namespace {

using Kind = BarrierStep::Kind;
/// By warp: the number of its arrival before which all that it did is known to be over. After
/// them, by warp: 1 if it had left when a barrier of all was completed.
using View = std::vector<unsigned>;

struct Access {
    unsigned warp = 0;
    unsigned time = 0;  ///< The warp's time: how many steps it has done.
    const BarrierStep* step = nullptr;
    std::uint32_t lanes = 0;
    View view;
};

struct ModelWarp {
    std::uint32_t live = 0;
    unsigned round = 0;
    std::size_t next = 0;  ///< The step.
    unsigned time = 0;
    bool waits = false;
    View view;
    std::vector<unsigned> waits_at;       ///< The times of its arrivals that wait.
    std::array<unsigned, 32> left_at{};   ///< By lane: when it left.
    std::array<std::uint32_t, 32> mix{};  ///< By lane: the result so far.
};

struct ModelBarrier {
    unsigned count = 0;
    std::vector<unsigned> arrived;  ///< Warps.
    std::vector<unsigned> waiting;
    unsigned votes = 0;
    unsigned voters = 0;
    BarrierForm form = BarrierForm::sync;
    View view;
};

class Model {
public:
    explicit Model(const BarrierProgram& program) : program_(program) {
        for (unsigned w = 0; w < program.warps.size(); ++w) {
            ModelWarp warp;
            warp.live = program.lanes_of(w);
            warp.view.assign(2 * program.warps.size(), 0);
            warp.left_at.fill(std::numeric_limits<unsigned>::max());
            for (unsigned lane = 0; lane < 32; ++lane)
                warp.mix[lane] = 32 * w + lane;
            warps_.push_back(warp);
        }
        for (unsigned k = 0; k < words_.size(); ++k)
            words_[k] = k;
    }

    BarrierOutcome run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (unsigned w = 0; w < warps_.size(); ++w)
                while (advance(w))
                    moved = true;
        }
        BarrierOutcome outcome;
        for (unsigned w = 0; w < warps_.size(); ++w) {
            outcome.ends = outcome.ends && !warps_[w].waits;
            for (unsigned lane = 0; lane < 32 && 32 * w + lane < program_.threads; ++lane)
                outcome.results.push_back(warps_[w].mix[lane]);
        }
        for (std::size_t b = 0; b < accesses_.size(); ++b) {
            for (std::size_t a = 0; a < b; ++a) {
                outcome.races = outcome.races || unordered(accesses_[a], accesses_[b], true);
                outcome.surely_races =
                    outcome.surely_races || unordered(accesses_[a], accesses_[b], false);
            }
        }
        return outcome;
    }

private:
    /// Does one step of a warp; false if there is none.
    bool advance(unsigned w) {
        ModelWarp& warp = warps_[w];
        const auto& steps = program_.warps[w];
        if (warp.waits || warp.live == 0) return false;
        if (warp.next == steps.size()) {
            warp.next = 0;
            if (++warp.round < program_.rounds && !steps.empty()) return true;
            leave(w, ~0u);
            return true;
        }
        const BarrierStep& step = steps[warp.next++];
        ++warp.time;
        if (step.kind == Kind::leave)
            leave(w, step.lanes);
        else if (step.kind == Kind::meet)
            arrive(w, step);
        else
            touch(w, step);
        return true;
    }

    void touch(unsigned w, const BarrierStep& step) {
        ModelWarp& warp = warps_[w];
        for (unsigned lane = 0; lane < 32; ++lane) {
            if ((warp.live >> lane & 1) == 0) continue;
            std::uint32_t& word = words_[32 * step.slot + (lane + step.rotation) % 32];
            if (step.kind == Kind::write)
                word = warp.mix[lane] + step.value;
            else
                warp.mix[lane] = 33 * warp.mix[lane] + word;
        }
        accesses_.push_back({w, warp.time, &step, warp.live, warp.view});
    }

    void leave(unsigned w, std::uint32_t lanes) {
        ModelWarp& warp = warps_[w];
        for (unsigned lane = 0; lane < 32; ++lane)
            if (((warp.live & lanes) >> lane & 1) != 0) warp.left_at[lane] = warp.time;
        warp.live &= ~lanes;
        for (ModelBarrier& barrier : barriers_)
            complete(barrier);
    }

    void arrive(unsigned w, const BarrierStep& step) {
        ModelWarp& warp = warps_[w];
        ModelBarrier& barrier = barriers_[step.id];
        barrier.count = step.count;
        barrier.form = step.form == BarrierForm::arrive ? barrier.form : step.form;
        barrier.arrived.push_back(w);
        View own = warp.view;
        own[w] = warp.time;
        learn(barrier.view, own);
        if (step.form >= BarrierForm::popc) {
            const std::uint32_t votes = step.negated ? ~step.predicates : step.predicates;
            barrier.votes += static_cast<unsigned>(std::popcount(votes & warp.live));
            barrier.voters += static_cast<unsigned>(std::popcount(warp.live));
        }
        if (step.form != BarrierForm::arrive) {
            barrier.waiting.push_back(w);
            warp.waits_at.push_back(warp.time);
            warp.waits = true;
        }
        complete(barrier);
    }

    static void learn(View& to, const View& from) {
        if (to.empty()) to.assign(from.size(), 0);
        for (std::size_t k = 0; k < from.size(); ++k)
            to[k] = std::max(to[k], from[k]);
    }

    void complete(ModelBarrier& barrier) {
        if (barrier.arrived.empty()) return;
        const auto living =
            std::ranges::count_if(warps_, [](const ModelWarp& warp) { return warp.live != 0; });
        const std::size_t wanted =
            barrier.count != 0 ? barrier.count / 32 : static_cast<std::size_t>(living);
        if (barrier.arrived.size() < wanted) return;
        ModelBarrier done = std::move(barrier);
        barrier = {};
        for (unsigned w = 0; done.count == 0 && w < warps_.size(); ++w)
            if (warps_[w].live == 0) done.view[warps_.size() + w] = 1;
        const std::uint32_t result = done.form == BarrierForm::popc  ? done.votes
                                     : done.form == BarrierForm::all ? done.votes == done.voters
                                                                     : done.votes != 0;
        for (const unsigned w : done.waiting) {
            ModelWarp& warp = warps_[w];
            warp.waits = false;
            learn(warp.view, done.view);
            if (done.form < BarrierForm::popc) continue;
            for (unsigned lane = 0; lane < 32; ++lane)
                if ((warp.live >> lane & 1) != 0) warp.mix[lane] = 33 * warp.mix[lane] + result;
        }
    }

    /// Lanes of an earlier access that no barrier orders before one that has this view.
    [[nodiscard]] std::uint32_t open_lanes(const Access& a, const View& view, bool strict) const {
        const unsigned limit = view[a.warp];
        if (!strict) return a.time < limit || view[warps_.size() + a.warp] != 0 ? 0 : a.lanes;
        const ModelWarp& warp = warps_[a.warp];
        std::uint32_t open = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
            // What a lane knows, the others of its warp learn where they wait together.
            const auto orders = [&](unsigned at) {
                return a.time < at && at <= limit && at < warp.left_at[lane];
            };
            const bool closed = orders(limit) || std::ranges::any_of(warp.waits_at, orders);
            if (!closed) open |= 1u << lane;
        }
        return open & a.lanes;
    }

    /// Whether b, which the model did after a, isn't ordered after it.
    [[nodiscard]] bool unordered(const Access& a, const Access& b, bool strict) const {
        if (a.step->slot != b.step->slot) return false;
        if (a.step->kind == Kind::read && b.step->kind == Kind::read) return false;
        // A lane's own accesses have an order.
        if (a.warp == b.warp && a.step->rotation == b.step->rotation) return false;
        const std::uint32_t open = open_lanes(a, b.view, strict);
        const auto words = [](std::uint32_t lanes, const Access& of) {
            return std::rotl(lanes, static_cast<int>(of.step->rotation));
        };
        return (words(open, a) & words(b.lanes, b)) != 0;
    }

    const BarrierProgram& program_;
    std::vector<ModelWarp> warps_;
    std::array<ModelBarrier, 16> barriers_;
    std::array<std::uint32_t, 32 * BarrierProgram::slots> words_{};
    std::vector<Access> accesses_;
};

}  // namespace

BarrierOutcome model_of(const BarrierProgram& program) {
    return Model(program).run();
}

}  // namespace lode::emulator::exec::testing::barriers
