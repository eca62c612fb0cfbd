// Clusters on the executor: order of blocks, barriers, faults and reports.
// tests/gpu/cluster_test.cpp compares results with a GPU's.
#include "tests/unit/emulator/exec/support.hpp"

#include <numeric>

#include <fmt/format.h>

using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

/// Runs k(out) with a grid of `blocks` in clusters of `size`.
LaunchOutcome run_clusters(Rig& rig, const Module& module, std::uint32_t blocks, Dim3 size,
                           std::uint32_t threads, std::uint64_t out) {
    GridShape shape{{blocks}, {threads}, 0};
    shape.cluster = size;
    return rig.machine.launch(module, "k", shape, lode::corpus::Arguments::of(out).bytes(),
                              rig.options);
}

/// Reads the word of the next block of the cluster, with a barrier before and after.
const std::string neighbour = ptx_kernel(
    ".param .u64 out",
    "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, %cluster_nctarank;\nmov.u32 %r3, %ctaid.x;\n"
    "mov.u32 %r4, word;\nmov.u32 %r8, %tid.x;\nsetp.eq.u32 %p1, %r8, 0;\n"
    "@%p1 st.shared.u32 [%r4], %r3;\n"
    "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
    "add.u32 %r5, %r1, 1;\nrem.u32 %r5, %r5, %r2;\nmapa.shared::cluster.u32 %r6, %r4, %r5;\n"
    "ld.shared::cluster.u32 %r7, [%r6];\n"
    "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
    "ld.param.u64 %rd1, [out];\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "st.global.u32 [%rd1], %r7;\n",
    ".shared .u32 word;\n");

bool has(const LaunchOutcome& outcome, std::string_view text) {
    return outcome.report.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("clusters: every number of workers, seed and check gives the same results") {
    for (const unsigned workers : {1u, 3u}) {
        for (const std::uint64_t seed : {0u, 1u, 7u}) {
            for (const bool checks : {false, true}) {
                Rig rig(workers);
                rig.options.seed = seed;
                rig.options.checks = {checks, checks, checks};
                const auto module = rig.load(neighbour);
                const std::uint64_t out = rig.put(std::vector<std::uint32_t>(48));
                const auto outcome = run_clusters(rig, *module, 48, {4}, 64, out);
                CAPTURE(outcome.report);
                CHECK(outcome.fault == Fault::none);
                CHECK(outcome.findings == 0);
                const auto found = rig.get<std::uint32_t>(out, 48);
                for (std::uint32_t block = 0; block < 48; ++block)
                    CHECK(found[block] == block / 4 * 4 + (block + 1) % 4);
            }
        }
    }
}

TEST_CASE("clusters: a cooperative launch opens all of them") {
    Rig rig(2);
    rig.options.cooperative = true;
    const auto module = rig.load(neighbour);
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(12));
    CHECK(run_clusters(rig, *module, 12, {3}, 32, out).fault == Fault::none);
    CHECK(rig.get<std::uint32_t>(out, 3) == std::vector<std::uint32_t>{1, 2, 0});
}

TEST_CASE("clusters: a shape that a launch can't have is refused") {
    Rig rig;
    const auto module = rig.load(neighbour);
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(64));
    CHECK(run_clusters(rig, *module, 7, {2}, 32, out).fault == Fault::invalid_value);
    CHECK(run_clusters(rig, *module, 34, {17}, 32, out).fault == Fault::invalid_value);
    CHECK(run_clusters(rig, *module, 16, {16}, 32, out).fault == Fault::none);
    const auto own = rig.load(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n"
        ".reqnctapercluster 2, 1, 1\n{ ret; }\n");
    CHECK(run_clusters(rig, *own, 4, {0, 0, 0}, 32, out).fault == Fault::none);
    CHECK(run_clusters(rig, *own, 3, {0, 0, 0}, 32, out).fault == Fault::invalid_value);
    CHECK(run_clusters(rig, *own, 4, {4}, 32, out).fault == Fault::invalid_value);
}

TEST_CASE("clusters: memory of a block that has exited, or that doesn't exist, is a fault") {
    const auto kernel = [](std::string_view rank, std::string_view offset) {
        return ptx_kernel(".param .u64 out",
                          fmt::format("mov.u32 %r1, %cluster_ctarank;\n"
                                      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
                                      "setp.eq.u32 %p1, %r1, 1;\n@%p1 exit;\n"
                                      "mov.u32 %r2, 200;\nL: nanosleep.u32 10;\n"
                                      "sub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p2, %r2, 0;\n"
                                      "@%p2 bra L;\n"
                                      "mov.u32 %r4, word;\nmapa.shared::cluster.u32 %r6, %r4, {};\n"
                                      "ld.shared::cluster.u32 %r7, [%r6+{}];\n",
                                      rank, offset),
                          ".shared .u32 word;\n");
    };
    Rig rig;
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(1));
    const auto gone = run_clusters(rig, *rig.load(kernel("1", "0")), 2, {2}, 32, out);
    CHECK(gone.fault == Fault::launch_failed);
    CHECK(has(gone, "reads 4 bytes of shared memory of block (1,0,0), which has exited"));
    const auto nobody = run_clusters(rig, *rig.load(kernel("2", "0")), 2, {2}, 32, out);
    CHECK(nobody.fault == Fault::launch_failed);
    CHECK(has(nobody, "of block 2 of its cluster, which has 2"));
    const auto past = run_clusters(rig, *rig.load(kernel("0", "4")), 2, {2}, 32, out);
    CHECK(past.fault == Fault::illegal_address);  // Its own rank is its own memory.
    CHECK(has(past, "past the end of its 4 bytes"));
}

TEST_CASE("clusters: accesses past the end of another block's memory are found") {
    const auto module = [](Rig& rig, std::string_view access) {
        return rig.load(ptx_kernel(
            ".param .u64 out",
            fmt::format("mov.u32 %r1, %cluster_ctarank;\nxor.b32 %r2, %r1, 1;\nmov.u32 %r4, word;\n"
                        "mapa.shared::cluster.u32 %r6, %r4, %r2;\ncvt.u64.u32 %rd6, %r6;\n"
                        "cvta.shared::cluster.u64 %rd7, %rd6;\n"
                        "barrier.cluster.arrive;\nbarrier.cluster.wait;\n{}\n"
                        "barrier.cluster.arrive;\nbarrier.cluster.wait;\n",
                        access),
            ".shared .align 8 .b8 word[8];\n"));
    };
    Rig rig;
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(1));
    for (const char* const access :
         {"ld.shared::cluster.u32 %r7, [%r6+8];", "st.shared::cluster.u32 [%r6+8], %r1;",
          "atom.shared::cluster.add.u32 %r7, [%r6+8], 1;", "ld.u32 %r7, [%rd7+8];",
          "st.u32 [%rd7+8], %r1;", "atom.add.u32 %r7, [%rd7+8], 1;"}) {
        CAPTURE(access);
        const auto outcome = run_clusters(rig, *module(rig, access), 2, {2}, 32, out);
        CHECK(outcome.fault == Fault::illegal_address);
        CHECK(has(outcome, "past the end of its 8 bytes of shared memory\n  address: offset 8 of"));
    }
    const auto odd =
        run_clusters(rig, *module(rig, "ld.shared::cluster.u32 %r7, [%r6+2];"), 2, {2}, 32, out);
    CHECK(odd.fault == Fault::misaligned_address);
    // Without the check of memory, addresses inside still reach the other block.
    rig.options.checks.memory = false;
    CHECK(run_clusters(rig, *module(rig, "ld.shared::cluster.u32 %r7, [%r6+4];"), 2, {2}, 32, out)
              .fault == Fault::none);
}

TEST_CASE("clusters: misused and incomplete barriers are reported") {
    Rig rig;
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(1));
    const auto run = [&](std::string_view body) {
        const auto module = rig.load(ptx_kernel(
            ".param .u64 out",
            "mov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p1, %r1, 0;\n" + std::string(body)));
        return run_clusters(rig, *module, 2, {2}, 64, out);
    };
    const auto twice = run("barrier.cluster.arrive;\nbarrier.cluster.arrive;\n");
    CHECK(twice.fault == Fault::illegal_instruction);
    CHECK(has(twice, "arrives twice at the cluster's barrier without waiting"));
    const auto absent = run("barrier.cluster.wait;\n");
    CHECK(absent.fault == Fault::illegal_instruction);
    CHECK(has(absent, "waits at the cluster's barrier without having arrived"));
    // One block waits for the cluster, the other for itself.
    const auto stuck =
        run("@!%p1 bra OTHER;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
            "bra END;\nOTHER: mov.u32 %r2, %tid.x;\nsetp.lt.u32 %p2, %r2, 32;\n"
            "@%p2 bar.sync 1, 96;\nbarrier.cluster.arrive;\n"
            "barrier.cluster.wait;\nEND:\n");
    CHECK(stuck.fault == Fault::launch_timeout);
    CHECK(has(stuck, "is deadlocked"));
    // Threads that have exited don't count, whether they have arrived or not.
    CHECK(run("@!%p1 exit;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n").fault ==
          Fault::none);
    CHECK(run("barrier.cluster.arrive;\n@%p1 exit;\nbarrier.cluster.wait;\n").fault == Fault::none);
    CHECK(run("barrier.cluster.arrive;\n").fault == Fault::none);
}

namespace {

/// Blocks that add one to the word of each block whose work they do: their own, and that of the
/// clusters which they keep from beginning.
std::string persistent_kernel(bool to_all) {
    std::string text = ptx_kernel(
        ".param .u64 out",
        fmt::format(
            "mov.u32 %r1, bar;\nmov.u32 %r2, answer;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, "
            "%cluster_ctarank;\nld.param.u64 %rd1, [out];\nmov.u32 %r5, 0;\nmov.u32 %r9, "
            "%ctaid.y;\n"
            "mbarrier.init.shared.b64 [%r1], 1;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
            "work:\nmad.lo.u32 %r10, %r9, 12, %r3;\nmul.wide.u32 %rd2, %r10, 4;\n"
            "add.u64 %rd2, %rd2, %rd1;\nred.global.add.u32 [%rd2], 1;\n"
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;\n{0}"
            "{1}clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{2}"
            ".b128 [%r2], [%r1];\n"
            "wait:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r5;\n@!%p1 bra wait;\n"
            "xor.b32 %r5, %r5, 1;\nld.shared.v2.b64 {{%rd5, %rd6}}, [%r2];\n"
            "mov.b128 %q, {{%rd5, %rd6}};\n"
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;\n"
            "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r9, %q;\n"
            "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r6, %r7, _, _}}, "
            "%q;\n"
            "add.u32 %r3, %r6, %r4;\nsetp.ne.and.u32 %p2, %r7, 77, %p2;\n{0}@%p2 bra work;\n",
            to_all ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : "",
            to_all ? "setp.eq.u32 %p3, %r4, 0;\n@%p3 " : "",
            to_all ? ".multicast::cluster::all" : ""),
        ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 answer[16];\n");
    text.replace(text.find(".target sm_90"), 13, ".target sm_100a");
    text.replace(text.find(".reg .pred"), 0, ".reg .b128 %q;\n");
    return text;
}

}  // namespace

TEST_CASE("clusters: blocks take over the work of clusters that haven't begun") {
    for (const unsigned workers : {1u, 3u}) {
        for (const std::uint64_t seed : {0u, 5u}) {
            for (const bool to_all : {false, true}) {
                Rig rig(workers);
                rig.options.seed = seed;
                const auto module = rig.load(persistent_kernel(to_all), 10, 0);
                const std::uint64_t out = rig.put(std::vector<std::uint32_t>(36));
                GridShape shape{{12, 3}, {1}, 0};
                shape.cluster = {to_all ? 4u : 1u};
                const auto outcome = rig.machine.launch(
                    *module, "k", shape, lode::corpus::Arguments::of(out).bytes(), rig.options);
                CAPTURE(outcome.report);
                CHECK(outcome.fault == Fault::none);
                CHECK(rig.get<std::uint32_t>(out, 36) == std::vector<std::uint32_t>(36, 1));
            }
        }
    }
}
