// One test for each known pitfall of PTX executors.
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec {

using testing::ptx_kernel;
using testing::Rig;

TEST_CASE("trap: a source register may be wider than the instruction's type") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(".param .u64 out",
                                            "ld.param.u64 %rd1, [out]; mov.u64 %rd2, 0x1fffffffe;"
                                            "add.u64 %rd2, %rd2, 0; cvt.s64.s32 %rd3, %rd2;"
                                            "st.global.u64 [%rd1], %rd3; ld.global.u8 %rd4, [%rd1];"
                                            "st.global.u64 [%rd1+8], %rd4;"));
    const auto out = rig.put(std::vector<std::uint64_t>(2));
    REQUIRE(rig.run(*module, "k", {1}, {1}, out).fault == Fault::none);
    CHECK(rig.get<std::int64_t>(out, 2) == std::vector<std::int64_t>{-2, 0xfe});
}

TEST_CASE("trap: borrow and carry mix as in two's complement") {
    // 5 - 7 borrows; addc then adds the inverted borrow.
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 out",
                            "ld.param.u64 %rd1, [out]; mov.u32 %r1, 5; mov.u32 %r2, 7;"
                            "sub.cc.u32 %r3, %r1, %r2; addc.u32 %r4, 10, 20;"
                            "sub.cc.u32 %r5, %r2, %r1; addc.u32 %r6, 10, 20;"
                            "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};"));
    const auto out = rig.put(std::vector<std::uint32_t>(4));
    REQUIRE(rig.run(*module, "k", {1}, {1}, out).fault == Fault::none);
    CHECK(rig.get<std::uint32_t>(out, 4) == std::vector<std::uint32_t>{~1u, 30, 2, 31});
}

TEST_CASE("trap: member masks differ by lane in one vote") {
    Rig rig;
    const auto module = rig.load(
        ptx_kernel(".param .u64 out",
                   "ld.param.u64 %rd1, [out]; mov.u32 %r1, %laneid; mul.wide.u32 %rd2, %r1, 4;"
                   "add.u64 %rd1, %rd1, %rd2; and.b32 %r2, %r1, 24; shl.b32 %r3, 255, %r2;"
                   "and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 1;"
                   "vote.sync.ballot.b32 %r5, %p1, %r3; st.global.u32 [%rd1], %r5;"));
    const auto out = rig.put(std::vector<std::uint32_t>(32));
    REQUIRE(rig.run(*module, "k", {1}, {32}, out).fault == Fault::none);
    std::vector<std::uint32_t> want;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        want.push_back(0xaau << (lane & 24));
    CHECK(rig.get<std::uint32_t>(out, 32) == want);
}

TEST_CASE("trap: a blocked group of lanes at a lower pc doesn't stop those at higher ones") {
    // Lanes 0-15 wait at a warp barrier at a low pc; the others reach it on a longer path.
    Rig rig;
    rig.options.timeout = std::chrono::seconds(10);
    const auto module = rig.load(ptx_kernel(
        ".param .u64 out",
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; mov.u32 %r2, 0;"
        "@!%p1 bra LONG;\nSHORT:\nbar.warp.sync -1; bra END;\n"
        "LONG:\nadd.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 100; @%p2 bra LONG; bra SHORT;\n"
        "END:\nmul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;"));
    const auto out = rig.put(std::vector<std::uint32_t>(32, 7));
    const auto outcome = rig.run(*module, "k", {1}, {32}, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    std::vector<std::uint32_t> want(16, 0);
    want.resize(32, 100);
    CHECK(rig.get<std::uint32_t>(out, 32) == want);
}

TEST_CASE("trap: a lock within a warp makes progress, in order and shuffled") {
    for (const std::uint64_t seed : {0, 1, 99}) {
        Rig rig;
        rig.options.seed = seed;
        rig.options.timeout = std::chrono::seconds(20);
        const auto module = rig.load(ptx_kernel(
            ".param .u64 data",
            "ld.param.u64 %rd1, [data];\n"
            "TRY:\natom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TRY;\n"
            "ld.volatile.global.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1;"
            "st.volatile.global.u32 [%rd1+4], %r2; atom.global.exch.b32 %r3, [%rd1], 0;"));
        const auto data = rig.put(std::vector<std::uint32_t>(2));
        const auto outcome = rig.run(*module, "k", {2}, {64}, data);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        CHECK(rig.get<std::uint32_t>(data, 2) == std::vector<std::uint32_t>{0, 128});
        // Lanes that spin give up their turns soon.
        CHECK(outcome.warp_instructions < 100'000);
    }
}

TEST_CASE("trap: tickets within a warp are served without many rounds") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 data",
        "ld.param.u64 %rd1, [data];\natom.global.add.u32 %r1, [%rd1], 1;\n"
        "WAIT:\nld.volatile.global.u32 %r2, [%rd1+4]; setp.ne.u32 %p1, %r2, %r1;\n@%p1 bra WAIT;\n"
        "add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1+4], %r2;"));
    const auto data = rig.put(std::vector<std::uint32_t>(2));
    const auto outcome = rig.run(*module, "k", {1}, {32}, data);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::uint32_t>(data, 2) == std::vector<std::uint32_t>{32, 32});
    CHECK(outcome.warp_instructions < 200'000);
}

TEST_CASE("trap: the race check finds races that lockstep hides") {
    // Each lane reads its neighbour's word without a barrier: correct in lockstep, but a race.
    const std::string body =
        "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, buffer; add.u32 %r2, %r2, %r3;"
        "st.shared.u32 [%r2], %r1; ";
    const std::string rest = "ld.shared.u32 %r4, [%r2+4];";
    for (const bool synced : {false, true}) {
        Rig rig;
        rig.options.checks.race = true;
        std::vector<std::string> findings;
        rig.options.finding = [&](std::string_view text) { findings.emplace_back(text); };
        const auto module = rig.load(ptx_kernel(".param .u64 unused",
                                                body + (synced ? "bar.warp.sync -1; " : "") + rest,
                                                ".shared .align 4 .b8 buffer[132];"));
        REQUIRE(rig.run(*module, "k", {1}, {32}, std::uint64_t{0}).fault == Fault::none);
        CHECK(findings.empty() == synced);
        if (!synced) CHECK(findings[0].find(" race: it reads what thread") != std::string::npos);
    }
}

TEST_CASE("check: reads of shared memory that the block hasn't written are found") {
    for (const bool written : {false, true}) {
        Rig rig;
        rig.options.checks.init = true;
        std::vector<std::string> findings;
        rig.options.finding = [&](std::string_view text) { findings.emplace_back(text); };
        const auto module = rig.load(
            ptx_kernel(".param .u64 unused",
                       std::string("mov.u32 %r3, buffer; ") +
                           (written ? "st.shared.u8 [%r3+1], %r3; st.shared.u8 [%r3], %r3;" : "") +
                           "st.shared.u16 [%r3+2], %rs1; ld.shared.u32 %r4, [%r3];",
                       ".shared .align 4 .b8 buffer[4];"));
        const auto outcome = rig.run(*module, "k", {2}, {1}, std::uint64_t{0});
        REQUIRE(outcome.fault == Fault::none);
        CHECK(outcome.findings == (written ? 0 : 2));
        CHECK(findings.empty() == written);
        if (!written)
            CHECK(findings[0].find("hasn't written\n  address: offset 0 of") != std::string::npos);
    }
}

TEST_CASE("trap: float instructions accept untyped registers") {
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 out",
                            "ld.param.u64 %rd1, [out]; mov.b32 %r1, 0f3FC00000;"
                            "fma.rn.f32 %r2, %r1, %r1, %r1; mov.b64 %rd2, 0d3FF8000000000000;"
                            "add.f64 %rd3, %rd2, %rd2; st.global.b32 [%rd1], %r2;"
                            "st.global.b64 [%rd1+8], %rd3;"));
    const auto out = rig.put(std::vector<double>(2));
    REQUIRE(rig.run(*module, "k", {1}, {1}, out).fault == Fault::none);
    CHECK(rig.get<float>(out, 1)[0] == 3.75f);
    CHECK(rig.get<double>(out, 2)[1] == 3.0);
}

TEST_CASE("trap: tens of thousands of variables don't slow a launch") {
    std::string before;
    for (int k = 0; k < 27000; ++k)
        before += ".global .align 4 .u32 v" + std::to_string(k) + ";\n";
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 out", "ld.param.u64 %rd1, [out];", before));
    REQUIRE(module->globals().size() == 27000);
    CHECK(rig.memory.living().size() == 1);
    const auto small = rig.load(ptx_kernel(".param .u64 out", "ld.param.u64 %rd1, [out];"));
    const auto best_of = [&](const Module& of) {
        auto best = std::chrono::steady_clock::duration::max();
        for (int k = 0; k < 2000; ++k) {
            const auto start = std::chrono::steady_clock::now();
            REQUIRE(rig.run(of, "k", {1}, {32}, std::uint64_t{0}).fault == Fault::none);
            best = std::min(best, std::chrono::steady_clock::now() - start);
        }
        return best;
    };
    // Sorting the table at each launch would take about 150 us; the minimum of many runs excludes
    // other load of the machine.
    CHECK(best_of(*module) < best_of(*small) + std::chrono::microseconds(50));
}

}  // namespace lode::emulator::exec
