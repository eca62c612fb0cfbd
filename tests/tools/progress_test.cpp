// The text of the progress line.
#include "tools/lode/progress.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::tool;
using Step = CompileEvent::Kind;
using namespace std::chrono_literals;

TEST_CASE("progress: what ended, what takes longest, and what it does") {
    ProgressState state;
    const auto start = ProgressState::Clock::now();
    const auto note = [&](Step kind, std::uint64_t request, const char* source, auto after) {
        state.note({.kind = kind,
                    .request = request,
                    .source = source,
                    .arch = *Arch::parse("sm_90"),
                    .phase = CompilePhase::waiting_for_worker},
                   start + after);
    };
    CHECK(state.line(start) == "");
    state.expect(4);
    note(Step::queued, 1, "a.cu", 0ms);
    CHECK(state.line(start) == "");
    note(Step::hit, 1, "a.cu", 0ms);
    CHECK(state.line(start) == "[1/4]");
    note(Step::started, 2, "b.cu", 100ms);
    CHECK(state.line(start + 1600ms) == "[1/4] b.cu for sm_90: starting, 1.5 s");
    note(Step::phase, 2, "b.cu", 200ms);
    note(Step::started, 3, "c.cu", 300ms);
    CHECK(state.line(start + 1100ms) ==
          "[1/4] b.cu for sm_90: waiting for a worker, 1.0 s (and 1 more)");
    note(Step::failed, 2, "b.cu", 400ms);
    CHECK(state.line(start + 1300ms) == "[2/4] c.cu for sm_90: starting, 1.0 s");
    note(Step::done, 3, "c.cu", 500ms);
    note(Step::hit, 4, "d.cu", 500ms);
    note(Step::hit, 5, "e.cu", 500ms);  // More than expected.
    CHECK(state.line(start) == "[5/5]");
}
