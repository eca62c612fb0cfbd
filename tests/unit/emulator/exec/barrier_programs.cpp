#include "tests/unit/emulator/exec/barrier_programs.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace lode::emulator::exec::testing::barriers {

namespace {

constexpr unsigned most_phases = 16;

constexpr std::array<std::string_view, 6> spellings = {"bar.",         "bar.cta.", "barrier.",
                                                       "barrier.cta.", "barrier.", "barrier.cta."};

std::string opcode_of(const BarrierStep& step) {
    const std::string_view aligned = step.spelling >= 4 ? ".aligned" : "";
    constexpr std::array<std::string_view, 5> forms = {"sync", "arrive", "red.popc", "red.and",
                                                       "red.or"};
    const std::string_view type = step.form == BarrierForm::popc  ? ".u32"
                                  : step.form >= BarrierForm::all ? ".pred"
                                                                  : "";
    return fmt::format("{}{}{}{}", spellings[step.spelling],
                       forms[static_cast<std::size_t>(step.form)], aligned, type);
}

/// One instruction; the result of a reduction is in %r13.
std::string instruction(const BarrierStep& step) {
    std::string text = opcode_of(step);
    if (step.form == BarrierForm::popc) text += " %r13,";
    if (step.form > BarrierForm::popc) text += " %p3,";
    text += step.id_register ? std::string(" %r10") : fmt::format(" {}", step.id);
    if (step.count != 0)
        text += step.count_register ? std::string(", %r11") : fmt::format(", {}", step.count);
    if (step.form >= BarrierForm::popc) text += step.negated ? ", !%p2" : ", %p2";
    text += ";\n";
    if (step.form > BarrierForm::popc) text += "selp.u32 %r13, 1, 0, %p3;\n";
    return text;
}

std::string lanes_in(std::uint32_t mask, std::string_view predicate) {
    return fmt::format("and.b32 %r12, %r4, 0x{:x}; setp.ne.u32 {}, %r12, 0;\n", mask, predicate);
}

std::string text_of(const BarrierStep& step, const std::string& label) {
    using Kind = BarrierStep::Kind;
    constexpr std::string_view mix = "mad.lo.u32 %r5, %r5, 33, {};\n";
    if (step.kind == Kind::leave) {
        return lanes_in(step.lanes, "%p1") +
               fmt::format("@!%p1 bra stay{0};\nst.global.u32 [%rd1], %r5;\nexit;\nstay{0}:\n",
                           label);
    }
    if (step.kind != Kind::meet) {
        std::string text = fmt::format(
            "add.u32 %r8, %r2, {}; and.b32 %r8, %r8, 31; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, "
            "%r6;\n",
            step.rotation);
        const unsigned offset = step.slot * 128;
        if (step.kind == Kind::read) {
            return text + fmt::format("ld.shared.u32 %r9, [%r8+{}];\n", offset) +
                   fmt::format(fmt::runtime(mix), "%r9");
        }
        return text + fmt::format("add.u32 %r9, %r5, 0x{:x};\nst.shared.u32 [%r8+{}], %r9;\n",
                                  step.value, offset);
    }
    std::string text;
    if (step.id_register) text += fmt::format("mov.u32 %r10, {};\n", step.id);
    if (step.count_register) text += fmt::format("mov.u32 %r11, {};\n", step.count);
    if (step.form >= BarrierForm::popc) text += lanes_in(step.predicates, "%p2");
    if (step.apart == 0) {
        text += instruction(step);
    } else {
        text += lanes_in(step.apart, "%p1");
        text += fmt::format("@%p1 bra apart{0};\n{1}bra met{0};\napart{0}:\n{1}met{0}:\n", label,
                            instruction(step));
    }
    if (step.form >= BarrierForm::popc) text += fmt::format(fmt::runtime(mix), "%r13");
    return text;
}

}  // namespace

std::uint32_t BarrierProgram::lanes_of(unsigned warp) const {
    const unsigned count = std::min(32u, threads - 32 * warp);
    return count == 32 ? ~0u : (1u << count) - 1;
}

std::string BarrierProgram::ptx() const {
    std::string text = fmt::format(
        ".version 8.0\n.target sm_75\n.address_size 64\n"
        ".shared .align 4 .b8 words[{0}];\n"
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 last)\n{{\n"
        ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;\n"
        "add.u64 %rd1, %rd1, %rd2; and.b32 %r2, %r1, 31; shr.u32 %r3, %r1, 5;\n"
        "mov.u32 %r4, 1; shl.b32 %r4, %r4, %r2; mov.u32 %r5, %r1; mov.u32 %r6, words;\n"
        "mov.u32 %r8, %r1;\n"
        "fill:\nshl.b32 %r9, %r8, 2; add.u32 %r9, %r9, %r6; st.shared.u32 [%r9], %r8;\n"
        "add.u32 %r8, %r8, {1}; setp.lt.u32 %p1, %r8, {2}; @%p1 bra fill;\n"
        "bar.sync 0;\nmov.u32 %r7, 0;\n",
        slots * 128, threads, slots * 32);
    for (std::size_t w = 0; w < warps.size(); ++w)
        text += fmt::format("setp.eq.u32 %p1, %r3, {0}; @%p1 bra warp{0};\n", w);
    for (std::size_t w = 0; w < warps.size(); ++w) {
        text += fmt::format("warp{}:\n", w);
        for (std::size_t k = 0; k < warps[w].size(); ++k)
            text += text_of(warps[w][k], fmt::format("_{}_{}", w, k));
        text += fmt::format(
            "add.u32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, {}; @%p1 bra warp{};\n"
            "bra done;\n",
            rounds, w);
    }
    return text + "done:\nst.global.u32 [%rd1], %r5;\nret;\n}\n";
}

/// One use of a barrier.
struct BarrierGenerator::Phase {
    unsigned number = 0;
    unsigned id = 0;
    bool counted = false;
    std::vector<unsigned> who;  ///< The warps that take part.
    BarrierForm form = BarrierForm::sync;
    bool may_arrive = false;  ///< All but the first may arrive without waiting.
};

bool BarrierGenerator::choose_id(const std::vector<unsigned>& who, unsigned& id) {
    const unsigned first = pick(16);
    for (unsigned k = 0; k < 16; ++k) {
        id = (first + k) % 16;
        const int last = last_use_[id];
        if (last < 0) return true;
        if (std::ranges::all_of(
                who, [&](unsigned w) { return known_[w][static_cast<std::size_t>(last)]; }))
            return true;
    }
    return false;
}

void BarrierGenerator::meet(BarrierProgram& to, const Phase& phase) {
    std::vector<bool> learned(most_phases + 2, false);
    learned[phase.number] = true;
    std::vector<unsigned> waiting;
    for (std::size_t k = 0; k < phase.who.size(); ++k) {
        const unsigned w = phase.who[k];
        BarrierStep step;
        step.kind = BarrierStep::Kind::meet;
        step.form = phase.form;
        if (phase.may_arrive && k != 0 && pick(2) == 0) step.form = BarrierForm::arrive;
        step.phase = phase.number;
        step.id = phase.id;
        step.count = phase.counted ? 32 * static_cast<unsigned>(phase.who.size()) : 0;
        step.spelling = pick(6);
        // The warps have instructions of their own, which no aligned barrier of a block may be.
        if (phase.id == 0 && !phase.counted && phase.who.size() > 1)
            step.spelling = 2 + step.spelling % 2;
        step.id_register = pick(3) == 0;
        step.count_register = phase.counted && pick(3) == 0;
        step.predicates = pick(3) == 0 ? ~0u : pick(3) == 0 ? 0 : bits();
        step.negated = pick(3) == 0;
        const std::uint32_t apart = live_[w] & bits();
        if ((step.spelling == 2 || step.spelling == 3) && pick(3) == 0 && apart != live_[w])
            step.apart = step.form == BarrierForm::popc && !divides_counts_ ? 0 : apart;
        to.warps[w].push_back(step);
        for (std::size_t p = 0; p < learned.size(); ++p)
            learned[p] = learned[p] || known_[w][p];
        if (step.form != BarrierForm::arrive) waiting.push_back(w);
    }
    for (const unsigned w : waiting) {
        for (std::size_t p = 0; p < learned.size(); ++p)
            known_[w][p] = known_[w][p] || learned[p];
    }
    last_use_[phase.id] = static_cast<int>(phase.number);
}

void BarrierGenerator::add_accesses(BarrierProgram& to, const std::vector<unsigned>& who,
                                    bool racy) {
    for (const unsigned w : who) {
        for (unsigned left = pick(3); left != 0; --left) {
            BarrierStep step;
            step.kind = pick(5) < 2 ? BarrierStep::Kind::write : BarrierStep::Kind::read;
            // Mostly words that a warp near by writes as well.
            step.slot =
                pick(3) == 0 ? pick(BarrierProgram::slots) : (w + pick(2)) % BarrierProgram::slots;
            step.rotation = pick(2) == 0 ? 0 : pick(32);
            step.value = bits();
            to.warps[w].push_back(step);
            if ((!racy || pick(8) != 0) && model_of(to).races) to.warps[w].pop_back();
        }
    }
}

void BarrierGenerator::add_phase(BarrierProgram& to, unsigned number) {
    Phase phase;
    phase.number = number;
    for (unsigned w = 0; w < to.warps.size(); ++w)
        if (live_[w] != 0) phase.who.push_back(w);
    phase.counted = pick(3) != 0;
    if (phase.counted) {
        std::ranges::shuffle(phase.who, random_);
        phase.who.resize(1 + pick(static_cast<unsigned>(phase.who.size())));
        phase.may_arrive = pick(2) == 0;
    }
    if (pick(4) == 0) {
        phase.form = static_cast<BarrierForm>(2 + pick(3));
        phase.may_arrive = false;
    }
    if (choose_id(phase.who, phase.id)) meet(to, phase);
}

void BarrierGenerator::add_leave(BarrierProgram& to) {
    BarrierStep step;
    step.kind = BarrierStep::Kind::leave;
    const unsigned w = pick(static_cast<unsigned>(to.warps.size()));
    if (live_[w] == 0) return;
    step.lanes = pick(2) == 0 ? ~0u : bits();
    const std::uint32_t left = live_[w] & ~step.lanes;
    // One warp stays.
    const auto living =
        std::ranges::count_if(live_, [](std::uint32_t lanes) { return lanes != 0; });
    if (left == 0 && living == 1) return;
    live_[w] = left;
    to.warps[w].push_back(step);
}

BarrierProgram BarrierGenerator::program(bool racy) {
    BarrierProgram made;
    const unsigned warps = 1 + pick(6);
    made.threads = 32 * warps - (pick(4) == 0 ? pick(31) : 0);
    made.warps.resize(warps);
    live_.clear();
    for (unsigned w = 0; w < warps; ++w)
        live_.push_back(made.lanes_of(w));
    known_.assign(warps, std::vector<bool>(most_phases + 2, false));
    last_use_.fill(-1);
    const bool leaves = pick(3) == 0;
    const unsigned phases = 1 + pick(most_phases - 1);
    for (unsigned number = 0; number < phases; ++number) {
        std::vector<unsigned> living;
        for (unsigned w = 0; w < warps; ++w)
            if (live_[w] != 0) living.push_back(w);
        add_accesses(made, living, racy);
        if (leaves && pick(6) == 0) add_leave(made);
        add_phase(made, number);
    }
    if (leaves) return made;
    // All meet before the next round.
    made.rounds = 1 + pick(3);
    Phase last;
    last.number = phases;
    last.counted = pick(2) == 0;
    for (unsigned w = 0; w < warps; ++w)
        last.who.push_back(w);
    if (!choose_id(last.who, last.id))
        made.rounds = 1;
    else
        meet(made, last);
    return made;
}

}  // namespace lode::emulator::exec::testing::barriers
