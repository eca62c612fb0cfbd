// What tests of the grammar do with a few instructions: run them, or see why they are refused.
#pragma once

#include "tests/unit/emulator/exec/support.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lode::emulator::exec::testing {

/// The words that a warp stores, one per lane, for a body that computes %r1; %r0 is the lane
/// number.
inline std::vector<std::uint32_t> words_of(const std::string& body) {
    Rig rig;
    const std::string text =
        ptx_kernel(".param .u64 out", "ld.param.u64 %rd0, [out];\nmov.u32 %r0, %laneid;\n" + body +
                                          "mul.wide.u32 %rd1, %r0, 4;\nadd.u64 %rd0, %rd0, %rd1;\n"
                                          "st.global.u32 [%rd0], %r1;\n");
    const auto module = rig.load(text);
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(32, 0xabcd));
    const LaunchOutcome outcome = rig.run(*module, "k", {1, 1, 1}, {32, 1, 1}, out);
    INFO(outcome.report);
    CHECK(outcome.fault == Fault::none);
    return rig.get<std::uint32_t>(out, 32);
}

/// Checks that each lane stores f(lane).
template <class F>
void check_lanes(const std::string& body, F f) {
    INFO(body);
    const auto words = words_of(body);
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        CHECK(words[lane] == static_cast<std::uint32_t>(f(lane)));
}

/// Why a module with this single instruction is refused; empty if it is loaded.
inline std::string refusal_of(const std::string& instruction) {
    Memory memory;
    const std::string text = ptx_kernel("", instruction, ".global .align 16 .b8 gm[64];\n");
    const LoadOutcome outcome = Module::load(memory, text, 9, 0);
    if (outcome.status == LoadStatus::ok) return {};
    CHECK(outcome.status == LoadStatus::invalid_ptx);
    return outcome.log.empty() ? "no message" : outcome.log;
}

}  // namespace lode::emulator::exec::testing
