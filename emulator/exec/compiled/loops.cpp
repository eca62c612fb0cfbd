// Loops inside of regions: where they begin, and how a branch back gets there.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"

#include <algorithm>
#include <bit>

namespace lode::emulator::exec {

/// A loop keeps in registers two rows that it computes from themselves.
bool Tracer::emit_head(std::span<const Step> steps) {
    constexpr std::size_t most_kept = 2;
    const Step& first = steps.front();
    const auto back = std::find_if(steps.rbegin(), steps.rend(), [&](const Step& step) {
        return is_branch(step.kind.action) && step.op->target == first.op;
    });
    // The branch back may be in another trace.
    const auto round =
        back == steps.rend() ? steps : steps.first(static_cast<std::size_t>(steps.rend() - back));
    if (!is_first(first)) {
        for (const auto& [slot, wide] : find_wanted(round))
            if (!scalar(slot, wide)) return false;
    }
    here_ = first.op;
    std::set<Slot> read, written;
    std::vector<Slot> kept;
    for (const Step& step : round) {
        const Op& op = *step.op;
        const bool defines = whole_result(step.kind) != 0;
        read.insert(op.r + (defines ? 1 : 0), std::end(op.r));
        if (!defines || !written.insert(op.r[0]).second) continue;
        const Action action = step.kind.action;
        const bool is_row = action >= Action::real_add && action <= Action::real_fma;
        if (!is_row || !read.contains(op.r[0])) continue;
        // A row from the second round on.
        settle(op.r[0]);
        drop_number(op.r[0]);
        kept.push_back(op.r[0]);
    }
    if (kept.size() > most_kept) kept.clear();
    drop_numbers([&](const Pending& one) { return !is_live(one, first.op); });
    keep_rows(kept);
    set_flushing(flushes_);
    Head& head = heads_[first.op];
    head.before = first.before;
    head.state = state();
    L(head.label);
    return true;
}

Values::State Values::state() const {
    State now;
    now.known_ = known_;
    now.held_ = held_;
    now.stack_ = stack_;
    now.flushing_ = flushing_;
    return now;
}

void Values::restore(const State& state) {
    known_ = state.known_;
    held_ = state.held_;
    stack_ = state.stack_;
    flushing_ = state.flushing_;
    pinned_ = 0;
}

void Values::keep_rows(std::span<const Slot> slots) {
    for (u32 k = first_register; k < register_end; ++k) {
        Held& one = held_[k];
        const bool is_kept =
            std::ranges::find(slots, one.slot) != slots.end() && std::has_single_bit(one.quarters);
        if (is_kept) continue;
        if (one.pending && is_needed(one.slot)) settle_register(k);
        one = {};
    }
    for (const Slot slot : slots)
        for (u32 q = 0; q < 4; ++q)
            held_[quarter(slot, q).getIdx()].pending = true;
    release();
    in_rax_ = {};
}

bool Values::has_numbers_of(const State& state) const {
    u32 moved = 0;
    for (const auto& [slot, there] : state.known_) {
        const auto here = known_.find(slot);
        if (here == known_.end() || here->second.value.wide != there.value.wide ||
            here->second.value.shape != there.value.shape)
            return false;
        if (here->second.value.at != there.value.at) ++moved;
    }
    return moved * sizeof(u64) <= scratch_bytes;
}

void Values::go_to(const State& state, std::span<const Pending> pending) {
    const auto is_in_place = [&](u32 k) {
        return held_[k].slot == state.held_[k].slot && held_[k].quarters == state.held_[k].quarters;
    };
    const auto is_pending_there = [&](const Pending& one) {
        if (one.in != 0) return is_in_place(one.in) && state.held_[one.in].pending;
        const auto there = state.known_.find(one.slot);
        return there != state.known_.end() && there->second.pending;
    };
    for (const Pending& one : pending)
        if (!is_pending_there(one)) store_row(one);
    for (u32 k = first_register; k < register_end; ++k) {
        const Held& there = state.held_[k];
        if (there.slot == no_slot || is_in_place(k)) continue;
        const auto q = static_cast<u32>(std::countr_zero(there.quarters));
        vmovdqa(Xbyak::Ymm(static_cast<int>(k)), memory_of(there.slot, 32 * q));
    }
    struct Move {
        u32 from, to;
        bool wide;
    };
    std::vector<Move> moves;
    for (const auto& [slot, there] : state.known_) {
        const auto from = static_cast<u32>(known_.at(slot).value.at);
        const auto to = static_cast<u32>(there.value.at);
        if (from != to) moves.push_back({from, to, there.value.wide});
    }
    // Two steps if a value is another's former one.
    const bool crosses = std::ranges::any_of(moves, [&](const Move& one) {
        return std::ranges::any_of(moves, [&](const Move& other) { return one.from == other.to; });
    });
    for (u32 k = 0; crosses && k < moves.size(); ++k) {
        const u32 between = scratch_begin + k * 8;
        move_number(moves[k].from, between, moves[k].wide);
        moves[k].from = between;
    }
    for (const Move& one : moves)
        move_number(one.from, one.to, one.wide);
    set_flushing(state.flushing_);
}

}  // namespace lode::emulator::exec

#endif
