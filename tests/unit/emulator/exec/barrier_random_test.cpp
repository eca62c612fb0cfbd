// The checks against a model of named barriers: random programs, right ones, ones that race, and
// ones with a seeded fault.
#include "tests/unit/emulator/exec/barrier_programs.hpp"
#include "tests/unit/emulator/exec/random_programs.hpp"
#include "tests/unit/emulator/exec/support.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace lode::emulator::exec {

using testing::barriers::BarrierForm;
using testing::barriers::BarrierGenerator;
using testing::barriers::BarrierOutcome;
using testing::barriers::BarrierProgram;
using testing::barriers::BarrierStep;
using testing::barriers::model_of;

namespace {

struct BarrierRun {
    LaunchOutcome outcome;
    std::string findings;
    std::vector<std::uint32_t> results;
};

class BarrierJudge {
public:
    BarrierJudge() {
        rig_.options.checks.race = true;
        rig_.options.checks.sync = true;
        rig_.options.timeout = std::chrono::seconds(60);
        rig_.options.finding = [this](std::string_view text) {
            findings_ += std::string(text) + "\n";
        };
    }
    BarrierRun run(const BarrierProgram& program, std::uint64_t order,
                   std::uint32_t compile_after) {
        const auto module = rig_.load(program.ptx());
        rig_.options.seed = order;
        rig_.options.compile_after = compile_after;
        findings_.clear();
        const std::uint64_t out = rig_.put(std::vector<std::uint32_t>(program.threads));
        BarrierRun ran;
        ran.outcome = rig_.run(*module, "k", {1}, {program.threads}, out, out, out);
        ran.findings = findings_;
        ran.results = rig_.get<std::uint32_t>(out, program.threads);
        rig_.memory.free(out);
        return ran;
    }
    /// The report and the findings of a kernel without parameters.
    std::string found(const std::string& text, unsigned threads, std::uint64_t order) {
        const auto module = rig_.load(text);
        rig_.options.seed = order;
        findings_.clear();
        const LaunchOutcome outcome = rig_.run(*module, "k", {1}, {threads});
        return outcome.report + findings_;
    }

private:
    testing::Rig rig_;
    std::string findings_;
};

constexpr std::array<std::uint64_t, 2> orders = {0, 3};

/// Calls f with what the device says of a program, for each order of its warps.
template <class F>
void in_orders(BarrierJudge& judge, const BarrierProgram& program, std::uint32_t compile_after,
               F&& f) {
    for (const std::uint64_t order : orders) {
        const BarrierRun ran = judge.run(program, order, compile_after);
        CAPTURE(order);
        INFO(program.ptx());
        INFO(ran.outcome.report);
        INFO(ran.findings);
        f(ran);
    }
}

/// The only use of a barrier, which is a counted one: its steps by warp.
struct BarrierUse {
    unsigned phase = 0;
    unsigned id = 0;
    std::vector<BarrierStep*> steps;
    std::vector<unsigned> warps;
    bool all_wait = true;
};

std::optional<BarrierUse> only_counted_use(BarrierProgram& program, unsigned least, unsigned turn) {
    std::vector<BarrierUse> uses;
    for (unsigned w = 0; w < program.warps.size(); ++w) {
        for (BarrierStep& step : program.warps[w]) {
            if (step.kind != BarrierStep::Kind::meet) continue;
            const auto known = std::ranges::find(uses, step.phase, &BarrierUse::phase);
            BarrierUse& use = known == uses.end() ? uses.emplace_back() : *known;
            use.phase = step.phase;
            use.id = step.id;
            use.steps.push_back(&step);
            use.warps.push_back(w);
            use.all_wait = use.all_wait && step.form != BarrierForm::arrive;
        }
    }
    std::erase_if(uses, [&](const BarrierUse& one) {
        return one.steps[0]->count == 0 || one.steps.size() < least ||
               std::ranges::any_of(uses, [&](const BarrierUse& other) {
                   return other.id == one.id && other.phase != one.phase;
               });
    });
    if (uses.empty()) return std::nullopt;
    return uses[turn % uses.size()];
}

/// One of the warps of a use other than the only one that waits.
std::size_t spare_step(const BarrierUse& use) {
    const auto arrives = std::ranges::find(use.steps, BarrierForm::arrive,
                                           [](const BarrierStep* step) { return step->form; });
    return arrives == use.steps.end() ? 0 : static_cast<std::size_t>(arrives - use.steps.begin());
}

void erase_step(BarrierProgram& program, const BarrierUse& use, std::size_t which) {
    auto& steps = program.warps[use.warps[which]];
    steps.erase(steps.begin() + (use.steps[which] - steps.data()));
}

/// Whether the report or a finding has a text.
bool says_so(const BarrierRun& ran, const std::string& text) {
    return ran.outcome.report.find(text) != std::string::npos ||
           ran.findings.find(text) != std::string::npos;
}

/// Expects that warps wait for ever at a barrier, or arrive in wrong numbers. It is mostly the one
/// with the fault, but a warp that goes on too early may be missed at another one.
void judge_place(const BarrierRun& ran, unsigned id, unsigned& named) {
    const auto says = [&](const std::string& text) { return says_so(ran, text); };
    const bool stands = ran.outcome.fault != Fault::none && says("waits at barrier ");
    CHECK((stands || says("arrives at barrier ")));
    const bool here = says(fmt::format("arrives at barrier {} ", id)) ||
                      says(fmt::format("waits at barrier {} with ", id));
    named += here ? 1 : 0;
}

}  // namespace

TEST_CASE("barriers: random programs race where a model of their barriers says so") {
    BarrierJudge judge;
    const unsigned programs = testing::as_many(300);
    unsigned races = 0;
    unsigned open = 0;
    unsigned missed = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        BarrierProgram program = BarrierGenerator(seed).program(seed % 2 != 0);
        const BarrierOutcome model = model_of(program);
        REQUIRE(model.ends);
        races += model.races ? 1 : 0;
        if (model.races && !model.surely_races) {
            ++open;
            continue;
        }
        CAPTURE(seed);
        in_orders(judge, program, seed / 2 % 2, [&](const BarrierRun& ran) {
            REQUIRE(ran.outcome.fault == Fault::none);
            if (model.races) {
                missed += ran.findings.find(" race: ") == std::string::npos ? 1 : 0;
                return;
            }
            CHECK(ran.findings == "");
            CHECK(ran.results == model.results);
        });
    }
    MESSAGE(races, " of ", programs, " programs race; of ", open, " PTX doesn't say it; ", missed,
            " launches miss it");
    // A third reader of a word can go unnoticed.
    CHECK(missed <= programs / 1000);
    CHECK(races > programs / 6);
    CHECK(races < programs - programs / 6);
    CHECK(open < programs / 10);
}

TEST_CASE("barriers: an arrival that is missing or too much ends in a deadlock") {
    BarrierJudge judge;
    const unsigned programs = testing::as_many(300);
    unsigned missing = 0;
    unsigned extra = 0;
    unsigned named = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        BarrierGenerator generator(seed);
        BarrierProgram program = generator.program(false);
        program.rounds = 1;
        const auto use = only_counted_use(program, 2, seed);
        if (!use) continue;
        // If all wait, and one has arrived before, somebody's arrival is one too many.
        const bool adds = use->all_wait && generator.pick(2) == 0;
        if (adds) {
            auto& steps = program.warps[use->warps[0]];
            BarrierStep step = *use->steps[0];
            step.form = BarrierForm::arrive;
            step.apart = 0;
            steps.insert(steps.begin() + (use->steps[0] - steps.data()), step);
        } else {
            erase_step(program, *use, spare_step(*use));
        }
        const BarrierOutcome model = model_of(program);
        REQUIRE_FALSE(model.ends);
        (adds ? extra : missing) += 1;
        CAPTURE(seed);
        in_orders(judge, program, seed % 2,
                  [&](const BarrierRun& ran) { judge_place(ran, use->id, named); });
    }
    MESSAGE(missing, " programs lack an arrival, ", extra, " have one too many; ", named,
            " launches name the barrier");
    CHECK(named > 2 * (missing + extra) * 9 / 10);
    CHECK(missing > programs / 5);
    CHECK(extra > programs / 10);
}

TEST_CASE("barriers: a wrong count is found at its barrier") {
    BarrierJudge judge;
    const unsigned programs = testing::as_many(300);
    unsigned wrong = 0;
    unsigned near = 0;
    unsigned named = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        BarrierGenerator generator(seed);
        BarrierProgram program = generator.program(false);
        program.rounds = 1;
        const auto use = only_counted_use(program, 1, seed);
        if (!use) continue;
        const auto which = generator.pick(static_cast<unsigned>(use->steps.size()));
        BarrierStep& step = *use->steps[which];
        const auto warps = static_cast<unsigned>(program.warps.size());
        const unsigned right = step.count;
        step.count = generator.pick(4) == 0 ? right + 1 + generator.pick(31)
                                            : 32 * (1 + generator.pick(warps + 2));
        const bool others_wait = std::ranges::any_of(use->steps, [&](const BarrierStep* one) {
            return one != &step && one->form != BarrierForm::arrive;
        });
        // A warp that waits for itself alone disturbs no warp that doesn't wait.
        if (step.count == right || (step.count == 32 && !others_wait)) continue;
        // ptxas refuses such constants.
        step.count_register = step.count_register || step.count % 32 != 0;
        ++wrong;
        CAPTURE(seed);
        CAPTURE(step.count);
        in_orders(judge, program, seed % 2, [&](const BarrierRun& ran) {
            const auto says = [&](const std::string& text) { return says_so(ran, text); };
            if (step.count % 32 != 0) {
                CHECK(ran.outcome.fault == Fault::illegal_instruction);
                CHECK(
                    says(fmt::format("waits at barrier {} for {} threads, which isn't a positive "
                                     "multiple of 32",
                                     use->id, step.count)));
            } else if (step.count > 32 * warps) {
                CHECK(says(fmt::format("waits at barrier {} for {} threads, but its block has {}",
                                       use->id, step.count, program.threads)));
            } else {
                judge_place(ran, use->id, named);
                ++near;
            }
        });
    }
    MESSAGE(wrong, " programs have a wrong count; ", named, " of ", near,
            " launches with a possible one name the barrier");
    CHECK(named > near * 9 / 10);
    CHECK(wrong > programs / 4);
}

TEST_CASE("barriers: a warp that is divided between aligned barriers is found") {
    BarrierJudge judge;
    const unsigned programs = testing::as_many(150);
    unsigned wrong = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        BarrierGenerator generator(seed);
        BarrierProgram program = generator.program(false);
        program.rounds = 1;
        const auto use = only_counted_use(program, 1, seed);
        if (!use) continue;
        const auto which = generator.pick(static_cast<unsigned>(use->steps.size()));
        BarrierStep& step = *use->steps[which];
        // An arrival doesn't wait, so that nothing stands at the other barrier.
        if (step.form == BarrierForm::arrive) continue;
        std::uint32_t live = program.lanes_of(use->warps[which]);
        for (const BarrierStep& one : program.warps[use->warps[which]])
            if (one.kind == BarrierStep::Kind::leave) live &= ~one.lanes;
        if (live == 0) continue;
        step.apart = live & (0x55555555u | generator.bits());
        if (step.apart == 0 || step.apart == live) continue;
        if (step.spelling == 2 || step.spelling == 3) step.spelling += 2;
        ++wrong;
        CAPTURE(seed);
        in_orders(judge, program, seed % 2, [&](const BarrierRun& ran) {
            CHECK(ran.findings.find("waits at a barrier in divergent code\n  lanes: 0x") !=
                  std::string::npos);
        });
    }
    MESSAGE(wrong, " programs divide a warp");
    CHECK(wrong > programs / 4);
}

TEST_CASE("barriers: lanes of one instruction with different counts are found") {
    BarrierJudge judge;
    for (const std::string_view opcode : {"bar.sync", "barrier.sync", "bar.arrive"}) {
        const std::string text =
            testing::ptx_kernel("", fmt::format("mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 9;\n"
                                                "selp.u32 %r2, 64, 96, %p1;\n{} 3, %r2;\n",
                                                opcode));
        for (const std::uint64_t order : orders) {
            INFO(text);
            const std::string found = judge.found(text, 96, order);
            CHECK(found.find("arrives at barrier 3 for ") != std::string::npos);
            CHECK(found.find(" threads, but others have arrived for ") != std::string::npos);
        }
    }
}

}  // namespace lode::emulator::exec
