// printf, the device heap, barriers with thread counts, workers.
#include "emulator/exec/builtins.hpp"
#include "tests/unit/emulator/exec/support.hpp"

// Outside lode::emulator, whose raise() hides the one that doctest calls on AArch64.
TEST_CASE("printf: conversions follow C, with the device's argument block") {
    const auto format = [](std::string_view text, std::initializer_list<std::uint64_t> values) {
        std::vector<std::uint8_t> bytes(values.size() * 8);
        std::size_t at = 0;
        for (const std::uint64_t value : values)
            std::memcpy(bytes.data() + 8 * at++, &value, 8);
        return lode::emulator::exec::format_printf(
            text, bytes, [](std::uint64_t address) -> std::optional<std::string> {
                if (address == 2) return std::nullopt;
                return std::string(address == 1 ? 3000 : 4, 'x');
            });
    };
    const auto text = [&](std::string_view format_text,
                          std::initializer_list<std::uint64_t> values) {
        return format(format_text, values).text;
    };
    CHECK(text("plain 100%%\n", {}) == "plain 100%\n");
    CHECK(text("%lld|%llx|%5lu|", {~std::uint64_t{0}, 255, 7}) == "-1|ff|    7|");
    CHECK(text("%.2f %s", {std::bit_cast<std::uint64_t>(2.5), 4096}) == "2.50 xxxx");
    CHECK(text("%d", {0xffffffffu}) == "-1");
    CHECK(text("%-4d|%c", {5 | (std::uint64_t{'x'} << 32)}) == "5   |x");
    CHECK(text("%*d|%-*.1s|", {3 | (std::uint64_t{7} << 32), 2, 4096}) == "  7|x |");
    CHECK(text("%-5s>", {1}).size() == 3001);
    CHECK(text("%600d", {1}).size() == 600);
    CHECK(text("broken %", {}) == "broken %");
    CHECK(text("%q %5", {}) == "%q %5");
    CHECK(text("%hd|%hhd", {0x9abcdef0 | (std::uint64_t{0x9abcdef0} << 32)}) == "-8464|-16");
    CHECK(text("%hu|%hhx", {0x9abcdef0 | (std::uint64_t{0x9abcdef0} << 32)}) == "57072|f0");
    CHECK(text("%s|%.3s|%.6s", {0, 0, 0}) == "(null)||(null)");
    CHECK(format("%s", {4096}).unreadable == std::nullopt);
    CHECK(format("%s %s", {4096, 2}).unreadable == 2);
}

TEST_CASE("printf: the result is the number of arguments, at most 32 of which are used") {
    std::string conversions;
    for (int i = 0; i < 34; ++i)
        conversions += "%d ";
    const std::vector<std::uint8_t> bytes(34 * 4);
    const auto print = [&](std::string_view format) {
        return lode::emulator::exec::format_printf(format, bytes,
                                                   [](std::uint64_t) { return std::string(); });
    };
    CHECK(print("none").arguments == 0);
    CHECK(print("%d %%, %*d").arguments == 3);
    const auto most = print(conversions);
    CHECK(most.arguments == 32);
    CHECK(most.text.ends_with("0 0 %d %d "));
}

namespace lode::emulator::exec {

using testing::ptx_kernel;
using testing::Rig;

TEST_CASE("printf: without a format the result is -1") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 out",
        "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], 0; st.param.b64 [a], 0;"
        "call.uni (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }"
        "ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1;",
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);"));
    const auto out = rig.put(std::vector<std::uint32_t>(1));
    const auto outcome = rig.run(*module, "k", {1}, {1}, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::int32_t>(out, 1)[0] == -1);
}

TEST_CASE("barrier: producers arrive, consumers wait, and the count decides") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 out",
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, flag; setp.lt.u32 %p1, %r1, "
        "32;\n@%p1 bra CONSUME;\nst.shared.u32 [%r5], 77; bar.arrive 3, 64; bra END;\nCONSUME:\n"
        "bar.sync 3, 64; ld.shared.u32 %r2, [%r5]; mul.wide.u32 %rd2, %r1, 4;"
        "add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;\nEND:\n",
        ".shared .align 4 .u32 flag;"));
    const auto out = rig.put(std::vector<std::uint32_t>(32));
    const auto outcome = rig.run(*module, "k", {1}, {64}, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::uint32_t>(out, 32) == std::vector<std::uint32_t>(32, 77));
}

TEST_CASE("barrier: threads that have exited don't count") {
    Rig rig;
    const auto module = rig.load(
        ptx_kernel(".param .u64 out",
                   "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 40;"
                   "@%p1 exit; bar.sync 0; atom.global.add.u32 %r2, [%rd1], 1;"));
    const auto out = rig.put(std::vector<std::uint32_t>(1));
    const auto outcome = rig.run(*module, "k", {1}, {128}, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::uint32_t>(out, 1)[0] == 40);
}

TEST_CASE("machine: every PTX instruction that a warp runs is counted, even without an op") {
    Rig rig;
    const auto out = rig.put(std::vector<std::uint32_t>(64));
    const auto count = [&](std::string_view body, unsigned threads) {
        const auto module = rig.load(ptx_kernel(".param .u64 out", body));
        const auto outcome = rig.run(*module, "k", {1}, {threads}, out);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        return outcome.warp_instructions;
    };
    // Parameters, special registers, constants and cvta only name values: no op runs for them.
    const std::string_view straight =
        "ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %tid.x;"
        "mov.u32 %r2, 5; add.u32 %r3, %r1, %r2; mul.wide.u32 %rd3, %r1, 4;"
        "add.u64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r3;";
    CHECK(count(straight, 32) == 9);  // Including ret.
    CHECK(count(straight, 64) == 18);
    CHECK(count("mov.u32 %r1, 0;\nLOOP:\nmov.u32 %r3, 1; add.u32 %r1, %r1, %r3;"
                "setp.lt.u32 %p1, %r1, 10;\n@%p1 bra LOOP;\n",
                32) == 1 + 10 * 4 + 1);
    CHECK(count("mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8;\n@%p1 bra LOW;\nadd.u32 %r2, %r1, "
                "1; mov.u32 %r4, 3;\nbra END;\nLOW:\nmov.u32 %r5, 7;\nEND:\nadd.u32 %r3, %r1, %r1;",
                32) == 3 + 3 + 1 + 2);
}

TEST_CASE("machine: a converted address keeps its value while the next one is made") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 out",
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, 0;\nLOOP:\nmul.wide.u32 %rd2, %r1, 4;"
        "add.s64 %rd3, %rd1, %rd2; setp.eq.u32 %p1, %r1, 0;\n@%p1 bra FIRST;\n"
        "st.global.u32 [%rd4], %r1; st.global.u32 [%rd5+32], %r1;\nFIRST:\n"
        "cvta.to.global.u64 %rd4, %rd3; cvta.to.global.u64 %rd5, %rd4; add.u32 %r1, %r1, 1;"
        "setp.lt.u32 %p2, %r1, 5;\n@%p2 bra LOOP;\n"));
    const auto out = rig.put(std::vector<std::uint32_t>(16));
    REQUIRE(rig.run(*module, "k", {1}, {1}, out).fault == Fault::none);
    CHECK(rig.get<std::uint32_t>(out, 16) ==
          std::vector<std::uint32_t>{1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0});
}

TEST_CASE("machine: workers run every block once") {
    // Workers take blocks one by one where an atomic's result may tell a block what others do.
    for (const std::string_view add :
         {"atom.global.add.u32 %r2, [%rd1], 1;", "red.global.add.u32 [%rd1], 1;"}) {
        for (const unsigned workers : {1, 3, 4}) {
            Rig rig(workers);
            const auto module = rig.load(
                ptx_kernel(".param .u64 out",
                           "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, "
                           "%r1, 4; add.u64 %rd1, %rd1, %rd2; " +
                               std::string(add)));
            for (const unsigned blocks : {1u, 2u, 7u, 33u, 1000u, 4099u}) {
                const auto out = rig.put(std::vector<std::uint32_t>(blocks));
                for (int k = 0; k < 5; ++k)
                    REQUIRE(rig.run(*module, "k", {blocks}, {32}, out).fault == Fault::none);
                CHECK(rig.get<std::uint32_t>(out, blocks) ==
                      std::vector<std::uint32_t>(blocks, 160));
            }
        }
    }
}

TEST_CASE("machine: memory barriers count transactions of bulk copies") {
    for (const bool advises : {false, true}) {
        CAPTURE(advises);
        Rig rig;
        // A cache policy changes only the spelling.
        const std::string hint = advises ? ".L2::cache_hint" : "";
        const std::string policy = advises ? ", %rd8" : "";
        const auto module = rig.load(ptx_kernel(
            ".param .u64 in, .param .u64 out",
            "createpolicy.fractional.L2::evict_first.b64 %rd8, 1.0;"
            "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, "
            "bar;"
            "mov.u32 %r3, buffer; setp.ne.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\n"
            "mbarrier.init.shared.b64 [%r2], 1;"
            "mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r2], 128;"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" +
                hint +
                " [%r3], [%rd1], 128, "
                "[%r2]" +
                policy +
                ";\nWAIT:\nbar.sync 0;\nTRY:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n"
                "@!%p2 bra TRY;\nshl.b32 %r4, %r1, 2; add.u32 %r5, %r3, %r4; ld.shared.u32 %r6, "
                "[%r5];"
                "cvt.u64.u32 %rd3, %r4; add.u64 %rd2, %rd2, %rd3; st.global" +
                hint + ".u32 [%rd2], %r6" + policy + ";",
            ".shared .align 16 .b8 buffer[128];\n.shared .align 8 .b64 bar;"));
        std::vector<std::uint32_t> in(32);
        for (std::uint32_t k = 0; k < 32; ++k)
            in[k] = k * k;
        const auto from = rig.put(in);
        const auto out = rig.put(std::vector<std::uint32_t>(32));
        const auto outcome = rig.run(*module, "k", {1}, {32}, from, out);
        REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
        CHECK(rig.get<std::uint32_t>(out, 32) == in);
    }
}

TEST_CASE("machine: 128-bit exchange and 16-bit compare work on global memory") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        ".param .u64 data",
        ".reg .b128 %q<3>; ld.param.u64 %rd1, [data]; mov.u64 %rd2, 1; mov.u64 %rd3, 2;"
        "mov.b128 %q1, {%rd2, %rd3}; atom.global.exch.b128 %q2, [%rd1], %q1;"
        "mov.b128 {%rd4, %rd5}, %q2; st.global.v2.u64 [%rd1+16], {%rd4, %rd5};"
        "mov.b16 %rs1, 5; mov.b16 %rs2, 9; atom.global.cas.b16 %rs3, [%rd1+34], %rs1, %rs2;"));
    std::vector<std::uint64_t> data{10, 20, 0, 0, 5u << 16};
    const auto at = rig.put(data);
    const auto outcome = rig.run(*module, "k", {1}, {1}, at);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::uint64_t>(at, 5) == std::vector<std::uint64_t>{1, 2, 10, 20, 9u << 16});
}

TEST_CASE("machine: no kernel runs in a graph that a kernel has launched") {
    testing::Rig rig;
    const auto module =
        rig.load(testing::ptx_kernel(".param .u64 out",
                                     "ld.param.u64 %rd1, [out]; mov.u64 %rd2, %current_graph_exec; "
                                     "st.global.u64 [%rd1], %rd2;"));
    const std::uint64_t out = rig.put(std::vector<std::uint64_t>{7});
    const LaunchOutcome outcome = rig.run(*module, "k", {1}, {1}, out);
    CHECK_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::uint64_t>(out, 1)[0] == 0);
}

TEST_CASE("machine: a kernel with multimem runs until it uses it") {
    testing::Rig rig;
    for (const char* const use :
         {"multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
          "multimem.st.weak.global.v2.bf16x2 [%rd1], {%r2, %r3};",
          "multimem.red.release.gpu.global.add.u64 [%rd1], %rd2;"}) {
        const auto module = rig.load(testing::ptx_kernel(
            ".param .u64 out, .param .u32 uses",
            std::string(
                "ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [uses];\n"
                "setp.ne.u32 %p1, %r1, 0; mov.u64 %rd2, 1; mov.u32 %r2, 2; mov.u32 %r3, 3;\n"
                "@!%p1 bra skip;\n") +
                use + "\nskip: st.global.u64 [%rd1], %rd2;"));
        const std::uint64_t out = rig.put(std::vector<std::uint64_t>(4));
        const LaunchOutcome spared = rig.run(*module, "k", {1}, {32}, out, std::uint32_t{0});
        CHECK_MESSAGE(spared.fault == Fault::none, spared.report);
        CHECK(rig.get<std::uint64_t>(out, 1)[0] == 1);
        const LaunchOutcome used = rig.run(*module, "k", {1}, {32}, out, std::uint32_t{1});
        CHECK(used.fault == Fault::illegal_address);
        CHECK(used.report.find("uses multimem outside of multicast objects, of which "
                               "this device has none") != std::string::npos);
    }
}

}  // namespace lode::emulator::exec
