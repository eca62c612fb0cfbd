// Errors of alloca and stackrestore, and the shuffles and votes of targets before sm_70.
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec {

namespace {

using testing::ptx_kernel;
using testing::Rig;

LaunchOutcome run(Rig& rig, const std::string& body) {
    const auto module = rig.load(ptx_kernel("", body));
    REQUIRE(module->refusal("k") == nullptr);
    return rig.run(*module, "k", {1, 1, 1}, {32, 1, 1});
}

/// Runs a kernel for sm_60, without .sync, on lanes with the values 0 to 31.
std::vector<std::uint32_t> old_kernel(const std::string& body) {
    Rig rig;
    const auto module = rig.load(
        ".version 6.3\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.u64 %rd1, %rd1, %rd2;\nmov.u32 %r2, 1000;\n" +
        body + "\nst.global.u32 [%rd1], %r2;\nret;\n}\n");
    REQUIRE(module->refusal("k") == nullptr);
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(32));
    const LaunchOutcome outcome = rig.run(*module, "k", {1, 1, 1}, {32, 1, 1}, out);
    INFO(outcome.report);
    REQUIRE(outcome.fault == Fault::none);
    return rig.get<std::uint32_t>(out, 32);
}

template <class F>
std::vector<std::uint32_t> by_lane(F f) {
    std::vector<std::uint32_t> made(32);
    for (std::uint32_t i = 0; i < 32; ++i)
        made[i] = f(i);
    return made;
}

}  // namespace

TEST_CASE("stack: alloca beyond the limit of the stack is an error of the kernel") {
    Rig rig;
    const LaunchOutcome outcome =
        run(rig, "mov.u64 %rd1, 0x4000000000;\nalloca.u64 %rd2, %rd1;\nst.local.u64 [%rd2], %rd1;");
    CHECK(outcome.fault == Fault::hardware_stack);
    CHECK(outcome.report.find("274877906944 bytes of stack") != std::string::npos);
}
TEST_CASE("stack: a loop of alloca without stackrestore ends at the limit") {
    Rig rig;
    const LaunchOutcome outcome =
        run(rig,
            "mov.u64 %rd1, 64;\nAGAIN: alloca.u64 %rd2, %rd1;\nst.local.u64 [%rd2], %rd1;\n"
            "bra AGAIN;");
    CHECK(outcome.fault == Fault::hardware_stack);
}
TEST_CASE("stack: stackrestore accepts only what the function has saved") {
    Rig rig;
    const LaunchOutcome outcome =
        run(rig, "stacksave.u64 %rd1;\nadd.u64 %rd1, %rd1, 4096;\nstackrestore.u64 %rd1;");
    CHECK(outcome.fault == Fault::hardware_stack);
    CHECK(outcome.report.find("address: 0x1000; ") != std::string::npos);
}
TEST_CASE("stack: memory from alloca counts as unwritten") {
    Rig rig;
    REQUIRE(rig.memory.watch_writes());
    rig.options.checks = Checks{.init = true};
    std::vector<std::string> findings;
    rig.options.finding = [&](std::string_view text) { findings.emplace_back(text); };
    const std::string twice =
        "mov.u64 %rd1, 16;\nstacksave.u64 %rd3;\nalloca.u64 %rd2, %rd1;\n"
        "st.local.u32 [%rd2], 1;\nld.local.u32 %r2, [%rd2];\nadd.u32 %r3, %r2, 1;\n"
        "stackrestore.u64 %rd3;\nalloca.u64 %rd2, %rd1;\n";
    run(rig, twice);
    CHECK(findings.empty());
    run(rig, twice + "ld.local.u32 %r2, [%rd2];\nadd.u32 %r3, %r2, 1;");
    CHECK(findings.size() == 1);
}

TEST_CASE("shuffles without .sync exchange values between the lanes that execute them") {
    CHECK(old_kernel("shfl.bfly.b32 %r2, %r1, 5, 31;") ==
          by_lane([](std::uint32_t i) { return i ^ 5; }));
    CHECK(old_kernel("shfl.up.b32 %r2|%p1, %r1, 3, 0;\n@!%p1 mov.u32 %r2, 77;") ==
          by_lane([](std::uint32_t i) { return i < 3 ? 77 : i - 3; }));
    CHECK(old_kernel("shfl.idx.b32 %r2, %r1, 9, 31;") ==
          by_lane([](std::uint32_t) { return std::uint32_t{9}; }));
    CHECK(old_kernel("setp.lt.u32 %p1, %r1, 12;\n@%p1 shfl.down.b32 %r2, %r1, 1, 31;") ==
          by_lane([](std::uint32_t i) { return i < 11 ? i + 1 : (i == 11 ? 12 : 1000); }));
}
TEST_CASE("votes without .sync count the lanes that execute them") {
    const std::string odd = "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 1;\n";
    CHECK(old_kernel(odd + "vote.ballot.b32 %r2, %p1;") ==
          by_lane([](std::uint32_t) { return 0xaaaaaaaau; }));
    CHECK(old_kernel(odd + "setp.lt.u32 %p2, %r1, 8;\n@%p2 vote.ballot.b32 %r2, %p1;") ==
          by_lane([](std::uint32_t i) { return i < 8 ? 0xaau : 1000u; }));
    CHECK(old_kernel(odd + "@%p1 bra ODD;\nbra END;\nODD: vote.all.pred %p3, %p1;\n"
                           "selp.u32 %r2, 1, 0, %p3;\nEND:") ==
          by_lane([](std::uint32_t i) { return i % 2 == 1 ? 1u : 1000u; }));
    CHECK(old_kernel(odd + "vote.any.pred %p3, %p1;\nvote.uni.pred %p4, %p1;\n"
                           "selp.u32 %r2, 10, 0, %p3;\n@%p4 add.u32 %r2, %r2, 1;") ==
          by_lane([](std::uint32_t) { return 10u; }));
}

}  // namespace lode::emulator::exec
