// clusterlaunchcontrol: blocks that take over clusters which haven't started.
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec {

namespace {

using testing::Rig;

/// Each block counts itself in started[0] and every block that it stands for in out[].
/// `cancel` issues the request, `next` sets %r2 and %r3 from the response %q1.
std::string stealing_kernel(const std::string& target, const std::string& cancel,
                            const std::string& next) {
    return ".version 8.7\n.target " + target +
           "\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 started)\n{\n"
           ".reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.reg .b128 %q<2>;\n"
           ".shared .align 16 .b8 response[16];\n.shared .align 8 .b64 bar;\n"
           "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r5, %cluster_ctarank;\n"
           "setp.eq.and.u32 %p4, %r5, 0, %p1;\n"
           "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
           "ld.param.u64 %rd1, [started];\n@%p1 red.global.add.u32 [%rd1], 1;\n"
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
           "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, 0;\n"
           "mov.u32 %r6, %nctaid.x;\nld.param.u64 %rd1, [out];\n"
           "LOOP: mad.lo.u32 %r7, %r3, %r6, %r2;\nmul.wide.u32 %rd2, %r7, 4;\n"
           "add.u64 %rd2, %rd1, %rd2;\nred.global.add.u32 [%rd2], 1;\n"
           "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" +
           cancel +
           "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r4;\n@!%p2 bra WAIT;\n"
           "xor.b32 %r4, %r4, 1;\nld.shared.b128 %q1, [response];\n"
           "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;\n@!%p3 bra DONE;\n" +
           next + "barrier.cluster.arrive;\nbarrier.cluster.wait;\nbra LOOP;\nDONE: ret;\n}\n";
}

const std::string single = stealing_kernel(
    "sm_100",
    "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
    "[response], [bar];\n",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, _, _}, %q1;\n");
const std::string generic = stealing_kernel(
    "sm_100",
    "mov.u64 %rd3, response;\ncvta.shared.u64 %rd3, %rd3;\nmov.u64 %rd4, bar;\n"
    "cvta.shared.u64 %rd4, %rd4;\n"
    "@%p1 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd3], "
    "[%rd4];\n",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r2, %q1;\n"
    "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r3, %q1;\n");
const std::string multicast = stealing_kernel(
    "sm_100a",
    "@%p4 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
    ".multicast::cluster::all.b128 [response], [bar];\n",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, _, _}, %q1;\n"
    "add.u32 %r2, %r2, %r5;\n");

/// Every block of the grid is done once, by whichever worker.
void check_stealing(const std::string& ptx, Dim3 cluster, unsigned workers, std::uint64_t seed,
                    const Checks& checks) {
    constexpr std::uint32_t across = 64;
    constexpr std::uint32_t down = 9;
    constexpr std::uint32_t threads = 32;
    Rig rig(workers);
    rig.options.seed = seed;
    rig.options.checks = checks;
    const auto module = rig.load(ptx, 10, 0);
    const Refusal* const refusal = module->refusal("k");
    REQUIRE_MESSAGE(refusal == nullptr, (refusal != nullptr ? refusal->message : ""));
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(std::size_t{across} * down));
    const std::uint64_t started = rig.put(std::vector<std::uint32_t>(1));
    GridShape shape{{across, down}, {threads}, 0};
    shape.cluster = cluster;
    const LaunchOutcome outcome = rig.machine.launch(
        *module, "k", shape, corpus::Arguments::of(out, started).bytes(), rig.options);
    CAPTURE(outcome.report);
    CHECK(outcome.fault == Fault::none);
    CHECK(outcome.findings == 0);
    CHECK(rig.get<std::uint32_t>(out, std::size_t{across} * down) ==
          std::vector<std::uint32_t>(std::size_t{across} * down, threads));
    const std::uint32_t blocks = rig.get<std::uint32_t>(started, 1).front();
    CHECK(blocks > 0);
    CHECK(blocks < across * down);
}

}  // namespace

TEST_CASE("launch control: blocks take over others, and all work is done once") {
    for (const unsigned workers : {1u, 3u}) {
        for (const std::uint64_t seed : {0u, 5u}) {
            CAPTURE(workers);
            CAPTURE(seed);
            check_stealing(single, {}, workers, seed, {});
            check_stealing(generic, {}, workers, seed, {});
            check_stealing(multicast, {2}, workers, seed, {});
            check_stealing(multicast, {4}, workers, seed, {});
        }
    }
}
TEST_CASE("launch control: taking over is no race") {
    check_stealing(single, {}, 1, 0, {.race = true, .init = true, .sync = true});
}
TEST_CASE("launch control: a response outside of shared memory is an error of the kernel") {
    Rig rig;
    const auto module = rig.load(
        ".version 8.7\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b64 %rd<4>;\n.shared .align 8 .b64 bar;\nld.param.u64 %rd1, [p];\n"
        "mov.u64 %rd2, bar;\ncvta.shared.u64 %rd2, %rd2;\n"
        "mbarrier.init.shared.b64 [bar], 1;\n"
        "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd1], [%rd2];\n"
        "ret;\n}\n",
        10, 0);
    const std::uint64_t memory = rig.put(std::vector<std::uint32_t>(4));
    const LaunchOutcome outcome = rig.run(*module, "k", {}, {}, memory);
    CHECK(outcome.fault == Fault::illegal_address);
    CHECK(outcome.report.find("wants a response and an mbarrier outside of shared memory") !=
          std::string::npos);
}

}  // namespace lode::emulator::exec
