// Memory barriers (mbarrier) in shared memory, compared with a model.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

/// An mbarrier as PTX specifies it.
struct Barrier {
    u32 expected = 0, pending = 0;
    i64 bytes = 0;
    u32 phases = 0;  ///< Completed phases.

    void init(u32 count) {
        expected = pending = count;
        bytes = 0;
        phases = 0;
    }
    void expect(u32 more) { bytes += more; }
    void complete(u32 done) {
        bytes -= done;
        turn();
    }
    void arrive(u32 count) {
        pending -= count;
        turn();
    }
    void drop(u32 count) {
        expected -= count;
        arrive(count);
    }

private:
    void turn() {
        if (pending != 0 || bytes != 0) return;
        ++phases;
        pending = expected;
    }
};

struct Step {
    std::string text;
    std::function<void(Barrier&)> effect;
};

const std::string barrier_variable = ".shared .align 8 .b64 bar;\n";
/// %d2 and %d3: the barrier's shared and generic address.
const std::string find_barrier = "mov.u64 %d2, bar;\ncvta.shared.u64 %d3, %d2;\n";
const std::string only_first = "setp.ne.u32 %p1, %i, 0;\n@%p1 bra DONE;\n";

/// Thread 0 executes the steps. After each one it tests both parities and stores the results in one
/// byte of its row.
Comparison script(const std::string& opcode, const std::vector<Step>& steps) {
    std::string body = only_first + find_barrier;
    for (std::size_t k = 0; k < steps.size(); ++k) {
        body += steps[k].text + ";\n";
        for (const u32 parity : {0u, 1u}) {
            body += fmt::format(
                "mbarrier.test_wait.parity.shared.b64 %p2, [bar], {};\nselp.u32 %r{}, {}, 0, "
                "%p2;\n",
                parity, 3 + parity, 1 + parity);
        }
        body += fmt::format("or.b32 %r3, %r3, %r4;\nst.global.u8 [%out+{}], %r3;\n", k);
    }
    return compared(Scene{opcode, body + "DONE:\n",
                          [=](Rows&, Rows& out) {
                              Barrier barrier;
                              for (std::size_t k = 0; k < steps.size(); ++k) {
                                  steps[k].effect(barrier);
                                  // The wait for a parity succeeds while the current phase has the
                                  // other parity.
                                  const bool odd = barrier.phases % 2 != 0;
                                  set(out[0], k, static_cast<u8>(odd ? 1 : 2));
                              }
                          },
                          barrier_variable, 32});
}

Step step(const std::string& text, void (Barrier::*effect)(u32), u32 count) {
    return {text, [=](Barrier& barrier) { (barrier.*effect)(count); }};
}
Step init(u32 count) {
    return step("mbarrier.init.shared.b64 [bar], " + std::to_string(count), &Barrier::init, count);
}

void add_scripts(Comparisons& all) {
    struct Spelling {
        std::string space, at;
    };
    for (const auto& [space, at] : {Spelling{".shared", "[bar]"},
                                    {".shared::cta", "[bar]"},
                                    {".shared", "[%d2]"},
                                    {"", "[%d3]"}}) {
        for (const std::string order : {"", ".release.cta", ".relaxed.cta"}) {
            const auto name = [&, &space = space](const std::string& what) {
                return "mbarrier." + what + order + space + ".b64";
            };
            const auto arrive = [&, &at = at](const std::string& count, u32 n) {
                return step(name("arrive") + " %d4, " + at + count, &Barrier::arrive, n);
            };
            all.push_back(
                script(name("arrive"), {init(3), arrive("", 1), arrive(", 1", 1), arrive("", 1),
                                        arrive(", 2", 2), arrive("", 1), arrive(", 3", 3)}));
            const auto drop = [&, &at = at](const std::string& count, u32 n) {
                return step(name("arrive_drop") + " %d4, " + at + count, &Barrier::drop, n);
            };
            all.push_back(
                script(name("arrive_drop"), {init(4), drop("", 1), arrive(", 3", 3), drop(", 2", 2),
                                             arrive("", 1), arrive("", 1), arrive("", 1)}));
            const auto both = [&, &at = at](u32 bytes) {
                return Step{name("arrive.expect_tx") + " %d4, " + at + ", " + std::to_string(bytes),
                            [=](Barrier& barrier) {
                                barrier.expect(bytes);
                                barrier.arrive(1);
                            }};
            };
            const auto complete = [&](u32 bytes) {
                return step("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], " +
                                std::to_string(bytes),
                            &Barrier::complete, bytes);
            };
            all.push_back(script(name("arrive.expect_tx"),
                                 {init(2), both(64), both(16), complete(64), complete(16), both(32),
                                  complete(32), arrive("", 1)}));
            if (order == ".release.cta") continue;
            const auto expect = [&, &at = at](u32 bytes) {
                return step(name("expect_tx") + " " + at + ", " + std::to_string(bytes),
                            &Barrier::expect, bytes);
            };
            all.push_back(script(name("expect_tx"),
                                 {init(1), expect(32), arrive("", 1), complete(16), complete(16),
                                  arrive("", 1), expect(4), complete(4), arrive("", 1)}));
            const auto done = [&, &at = at](u32 bytes) {
                return step(name("complete_tx") + " " + at + ", " + std::to_string(bytes),
                            &Barrier::complete, bytes);
            };
            all.push_back(script(name("complete_tx"), {init(1), expect(48), arrive("", 1), done(32),
                                                       done(16), arrive("", 1)}));
        }
        const auto start = [&, &space = space, &at = at](u32 count) {
            return step("mbarrier.init" + space + ".b64 " + at + ", " + std::to_string(count),
                        &Barrier::init, count);
        };
        const Step once = step("mbarrier.arrive.shared.b64 _, [bar]", &Barrier::arrive, 1);
        all.push_back(
            script("mbarrier.init" + space + ".b64", {start(1), once, once, start(2), once, once}));
        all.push_back(script("mbarrier.inval" + space + ".b64",
                             {init(1),
                              once,
                              {"mbarrier.inval" + space + ".b64 " + at + ";\n" + init(2).text,
                               [](Barrier& barrier) { barrier.init(2); }},
                              once,
                              once}));
    }
    const auto hold = [](const std::string& count, u32 n) {
        return step("mbarrier.arrive.noComplete.shared.b64 %d4, [bar]" + count, &Barrier::arrive,
                    n);
    };
    all.push_back(script("mbarrier.arrive.noComplete.shared.b64",
                         {init(5), hold(", 1", 1), hold(", 3", 3),
                          step("mbarrier.arrive.shared.b64 _, [bar]", &Barrier::arrive, 1)}));
}

/// Waits for the phase of a state, and queries of a state.
void add_states(Comparisons& all) {
    for (const std::string verb : {"test_wait", "try_wait"}) {
        for (const std::string order : {"", ".acquire.cta", ".relaxed.cta"}) {
            for (const std::string space : {".shared", ".shared::cta", ""}) {
                const std::string at = space.empty() ? "[%d3]" : "[bar]";
                const std::string opcode = "mbarrier." + verb + order + space + ".b64";
                const auto ask = [&](const std::string& name, u32 byte, const std::string& state) {
                    return name + " %p2, " + at + ", " + state +
                           ";\nselp.u32 %r3, 1, 0, %p2;\nst.global.u8 [%out+" +
                           std::to_string(byte) + "], %r3;\n";
                };
                const std::string arrive = "mbarrier.arrive.shared.b64 ";
                std::string body = only_first + find_barrier;
                body += "mbarrier.init.shared.b64 [bar], 2;\n";
                body += arrive + "%d4, [bar];\n" + ask(opcode, 0, "%d4");
                body += arrive + "%d5, [bar];\n" + ask(opcode, 1, "%d4") + ask(opcode, 2, "%d5");
                body += arrive + "%d6, [bar];\n" + ask(opcode, 3, "%d6") + ask(opcode, 4, "%d5");
                body += arrive + "%d7, [bar];\n" + ask(opcode, 5, "%d6") + ask(opcode, 6, "%d7");
                all.push_back(compared(Scene{opcode, body + "DONE:\n",
                                             [](Rows&, Rows& out) {
                                                 const u8 over[] = {0, 1, 1, 0, 1, 1, 1};
                                                 for (std::size_t k = 0; k < 7; ++k)
                                                     set(out[0], k, over[k]);
                                             },
                                             barrier_variable, 32}));
                // Each result is stored before the next arrival. On a device try_wait may block,
                // and would succeed if a later arrival completed the phase.
                const std::string by_parity =
                    "mbarrier." + verb + ".parity" + order + space + ".b64";
                body = only_first + find_barrier + "mbarrier.init.shared.b64 [bar], 1;\n";
                body += ask(by_parity, 0, "0") + arrive + "_, [bar];\n";
                body += ask(by_parity, 1, "0") + ask(by_parity, 2, "1");
                body += arrive + "_, [bar];\n" + ask(by_parity, 3, "0") + ask(by_parity, 4, "1");
                all.push_back(compared(Scene{by_parity, body + "DONE:\n",
                                             [](Rows&, Rows& out) {
                                                 const u8 over[] = {0, 1, 0, 0, 1};
                                                 for (std::size_t k = 0; k < 5; ++k)
                                                     set(out[0], k, over[k]);
                                             },
                                             barrier_variable, 32}));
            }
        }
    }
    all.push_back(compared(Scene{
        "mbarrier.pending_count.b64",
        only_first + "mbarrier.init.shared.b64 [bar], 5;\nmbarrier.arrive.shared.b64 %d4, [bar];\n"
                     "mbarrier.arrive.shared.b64 %d5, [bar], 2;\n"
                     "mbarrier.pending_count.b64 %r3, %d4;\nmbarrier.pending_count.b64 %r4, %d5;\n"
                     "st.global.v2.u32 [%out], {%r3, %r4};\nDONE:\n",
        [](Rows&, Rows& out) {
            set(out[0], 0, u32{5});
            set(out[0], 4, u32{4});
        },
        barrier_variable, 32}));
    // Threads of several warps write their words, arrive, wait, and read a neighbour's word.
    for (const std::string wait : {"mbarrier.try_wait.shared.b64 %p2, [bar], %d4;\n",
                                   "mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n",
                                   "mbarrier.test_wait.shared.b64 %p2, [bar], %d4;\n"}) {
        all.push_back(compared(
            Scene{wait.substr(0, wait.find(' ')),
                  "setp.eq.u32 %p1, %i, 0;\n@%p1 mbarrier.init.shared.b64 [bar], 96;\nbar.sync 0;\n"
                  "mov.u32 %r4, room;\nmad.lo.u32 %r5, %i, 4, %r4;\nld.global.u32 %r3, [%in];\n"
                  "st.shared.u32 [%r5], %r3;\nmbarrier.arrive.shared.b64 %d4, [bar];\nWAIT:\n" +
                      wait +
                      "@!%p2 bra WAIT;\nadd.u32 %r6, %i, 33;\nrem.u32 %r6, %r6, 96;\n"
                      "mad.lo.u32 %r6, %r6, 4, %r4;\nld.shared.u32 %r7, [%r6];\n"
                      "st.global.u32 [%out], %r7;\n",
                  [](Rows& in, Rows& out) {
                      for (std::size_t i = 0; i < in.size(); ++i)
                          set(out[i], 0, get<u32>(in[(i + 33) % in.size()]));
                  },
                  barrier_variable + ".shared .align 4 .b8 room[512];\n", 96}));
    }
}

}  // namespace

static Comparisons mbarrier_family() {
    Comparisons all;
    add_scripts(all);
    add_states(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: mbarriers count arrivals and bytes as their model does",
                   mbarrier_family)

}  // namespace lode::emulator::exec::testing
