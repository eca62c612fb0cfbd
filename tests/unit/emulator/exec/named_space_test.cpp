// Accesses without a state space that name a variable: as in ptxas, they are in its space.
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec::testing {
namespace {

using SpaceWords = std::vector<std::uint32_t>;

constexpr std::string_view space_variables =
    ".global .align 16 .b32 field[4];\n.shared .align 16 .b32 outer[4];\n";
constexpr std::string_view space_body =
    ".shared .align 16 .b32 inner[4];\n.local .align 16 .b32 nook[4];\n"
    ".shared .align 8 .b64 bar;\nld.param.u64 %rd1, [out];\n";

/// What 32 threads of a kernel leave in the first words of `out`, on either tier.
SpaceWords space_words(std::string_view body, std::size_t count, std::uint32_t compile_after,
                       std::string_view target = "sm_90", int major = 9) {
    Rig rig;
    rig.options.compile_after = compile_after;
    std::string ptx =
        ptx_kernel(".param .u64 out", std::string(space_body) + std::string(body), space_variables);
    ptx.replace(ptx.find("sm_90"), 5, target);
    const auto module = rig.load(ptx, major);
    const std::uint64_t out = rig.put(SpaceWords(64));
    const LaunchOutcome outcome = rig.run(*module, "k", {1}, {32}, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    return rig.get<std::uint32_t>(out, count);
}

struct NamedSpaceCase {
    std::string_view body;
    SpaceWords expected;
};

}  // namespace

TEST_CASE("named space: loads, stores and atomics without a space") {
    const NamedSpaceCase cases[] = {
        {"mov.u32 %r1, 7; st.u32 [inner], %r1; ld.shared.u32 %r2, [inner];\n"
         "st.global.u32 [%rd1], %r2;",
         {7}},
        {"mov.u32 %r1, 7; st.shared.u32 [inner+8], %r1; ld.u32 %r2, [inner+8];\n"
         "ld.volatile.u32 %r3, [inner+8]; ld.relaxed.cta.u32 %r4, inner[2];\n"
         "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};",
         {7, 7, 7, 7}},
        {"mov.u32 %r1, 7; mov.u32 %r2, 8; st.v2.u32 [outer+8], {%r1, %r2};\n"
         "ld.v4.u32 {%r3, %r4, %r5, %r6}, [outer]; st.global.v2.u32 [%rd1], {%r5, %r6};",
         {7, 8}},
        {"mov.u32 %r1, %tid.x; st.u32 [nook+4], %r1; ld.local.u32 %r2, [nook+4];\n"
         "ld.u32 %r3, [nook+4]; setp.eq.u32 %p1, %r1, 5;\n"
         "@%p1 st.global.v2.u32 [%rd1], {%r2, %r3};",
         {5, 5}},
        {"mov.u32 %r1, 7; st.u32 [field+4], %r1; ld.global.u32 %r2, [field+4];\n"
         "ld.u32 %r3, [field+4]; st.global.v2.u32 [%rd1], {%r2, %r3};",
         {7, 7}},
        {"mov.u32 %r1, 7; st.shared.u32 [inner], %r1; st.shared.u32 [outer], %r1; bar.sync 0;\n"
         "atom.add.u32 %r2, [inner], 1; red.add.u32 [outer], 2; atom.add.u32 %r5, [field], 3;\n"
         "bar.sync 0; ld.shared.u32 %r3, [inner]; ld.shared.u32 %r4, [outer];\n"
         "ld.global.u32 %r5, [field]; st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r1};",
         {39, 71, 96, 7}},
    };
    for (const NamedSpaceCase& one : cases) {
        CAPTURE(one.body);
        for (const std::uint32_t tier : {0u, 1u})
            CHECK(space_words(one.body, one.expected.size(), tier) == one.expected);
    }
}

TEST_CASE("named space: mbarriers, matrices and launch control without a space") {
    CHECK(space_words("mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT; "
                      "mbarrier.init.b64 [bar], 32;\n"
                      "WAIT: bar.sync 0; mbarrier.arrive.b64 %rd2, [bar];\n"
                      "AGAIN: mbarrier.test_wait.b64 %p2, [bar], %rd2; @!%p2 bra AGAIN;\n"
                      "mov.u32 %r1, 1; st.global.u32 [%rd1], %r1;",
                      1, 0) == SpaceWords{1});
    CHECK(space_words("mov.u32 %r1, 0x00050004; st.shared.u32 [inner], %r1; bar.sync 0;\n"
                      "ldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [inner];\n"
                      "mov.u32 %r3, %tid.x; setp.eq.u32 %p1, %r3, 0;\n"
                      "@%p1 st.global.u32 [%rd1], %r2;",
                      1, 0) == SpaceWords{0x00050004});
    CHECK(space_words(".shared .align 16 .b128 answer; .reg .b128 %q; .reg .b64 %a, %b;\n"
                      "mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 ret;\n"
                      "mbarrier.init.b64 [bar], 1; mbarrier.arrive.expect_tx.b64 _, [bar], 16;\n"
                      "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 "
                      "[answer], [bar];\n"
                      "AGAIN: mbarrier.try_wait.parity.b64 %p2, [bar], 0; @!%p2 bra AGAIN;\n"
                      "mov.u32 %r1, 1; st.global.u32 [%rd1], %r1;",
                      1, 0, "sm_100", 10) == SpaceWords{1});
}

TEST_CASE("named space: the bounds are the variable's") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 out", std::string(space_body) + "mov.u32 %r1, 7; st.u32 [inner+16], %r1;",
        space_variables));
    const LaunchOutcome outcome = rig.run(*module, "k", {1}, {1}, rig.put(SpaceWords(1)));
    CHECK(outcome.fault == Fault::illegal_address);
    CHECK_MESSAGE(outcome.report.find("inner") != std::string::npos, outcome.report);
}

}  // namespace lode::emulator::exec::testing
