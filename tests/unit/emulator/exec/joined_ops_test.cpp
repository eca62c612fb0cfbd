// Instructions that one op performs together: addresses made of an index, comparisons with the
// branch after them. Each program also stands with its instructions kept apart.
#include "tests/unit/emulator/exec/support.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

constexpr std::string_view three_pointers = ".param .u64 in, .param .u64 index, .param .u64 out";

/// The start of a program: %rd1 the values, %r1 an index of each thread, %rd3 the thread's result.
constexpr std::string_view head = R"(
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [index];
    ld.param.u64 %rd3, [out];
    mov.u32 %r9, %tid.x;
    mul.wide.u32 %rd4, %r9, 4;
    add.s64 %rd2, %rd2, %rd4;
    add.s64 %rd3, %rd3, %rd4;
    ld.global.u32 %r1, [%rd2];
)";

std::vector<std::uint32_t> values_of(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<std::uint32_t>(i * 2654435761u);
    return values;
}

/// The results of a program of 32 threads. `in` points to the middle of 4096 values.
std::vector<std::uint32_t> results_of(std::string_view body,
                                      const std::vector<std::uint32_t>& indices) {
    Rig rig;
    const auto module = rig.load(ptx_kernel(three_pointers, std::string(head) + std::string(body),
                                            ".shared .align 4 .b8 table[256];\n"));
    const std::uint64_t in = rig.put(values_of(4096)) + 8192;
    const std::uint64_t index = rig.put(indices);
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(32));
    const LaunchOutcome outcome = rig.run(*module, "k", {1}, {32}, in, index, out);
    INFO(outcome.report);
    CHECK(outcome.fault == Fault::none);
    return rig.get<std::uint32_t>(out, 32);
}

std::vector<std::vector<std::uint32_t>> index_patterns() {
    std::vector<std::vector<std::uint32_t>> patterns(7, std::vector<std::uint32_t>(32));
    for (std::uint32_t i = 0; i < 32; ++i) {
        patterns[0][i] = i;                      // One run.
        patterns[1][i] = 5;                      // One element.
        patterns[2][i] = i % 16 + i / 16 * 100;  // Two runs.
        patterns[3][i] = i / 16 * 7;             // Two elements.
        patterns[4][i] = i * 37 % 64;
        patterns[5][i] = i - 16;  // Wraps if unsigned, crosses zero if signed.
        patterns[6][i] = 0 - i * 3;
    }
    return patterns;
}

}  // namespace

TEST_CASE("an element's address may be made by its load") {
    const auto values = values_of(4096);
    for (const auto& indices : index_patterns()) {
        const auto loaded = results_of(
            "mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
            "ld.global.u32 %r2, [%rd6+8];\nst.global.u32 [%rd3], %r2;\n",
            indices);
        for (std::size_t i = 0; i < 32; ++i) {
            const auto at = 2048 + static_cast<std::int32_t>(indices[i]) + 2;
            CHECK(loaded[i] == values[static_cast<std::size_t>(at)]);
        }
        const auto bytes = results_of(
            "cvt.s64.s32 %rd5, %r1;\nadd.s64 %rd6, %rd5, %rd1;\nadd.s64 %rd7, %rd6, 3;\n"
            "ld.global.u8 %r2, [%rd7];\nst.global.u32 [%rd3], %r2;\n",
            indices);
        for (std::size_t i = 0; i < 32; ++i) {
            const auto at = 8192 + static_cast<std::int32_t>(indices[i]) + 3;
            const std::uint32_t word = values[static_cast<std::size_t>(at / 4)];
            CHECK(bytes[i] == (word >> (at % 4 * 8) & 255));
        }
    }
}

TEST_CASE("an unsigned index isn't extended by its sign") {
    // 0xffff'fff0 + lane: the addresses are far apart from the values, and so is the fault's.
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(three_pointers, std::string(head) + "mul.wide.u32 %rd5, %r1, 4;\n"
                                                                "add.s64 %rd6, %rd1, %rd5;\n"
                                                                "ld.global.u32 %r2, [%rd6];\n"
                                                                "st.global.u32 [%rd3], %r2;\n"));
    std::vector<std::uint32_t> indices(32);
    for (std::uint32_t i = 0; i < 32; ++i)
        indices[i] = i - 16;
    const std::uint64_t in = rig.put(values_of(4096)) + 8192;
    const std::uint64_t index = rig.put(indices);
    const std::uint64_t out = rig.put(std::vector<std::uint32_t>(32));
    const LaunchOutcome outcome = rig.run(*module, "k", {1}, {32}, in, index, out);
    CHECK(outcome.fault == Fault::illegal_address);
    CHECK(outcome.report.find(fmt::format("0x{:x}", in + std::uint64_t{4} * 0xffff'fff0)) !=
          outcome.report.npos);
}

TEST_CASE("stores and shared memory have indices too") {
    for (const auto& indices : index_patterns()) {
        const auto stored = results_of(
            "mov.u64 %rd7, table;\nand.b32 %r3, %r1, 31;\nmul.wide.s32 %rd5, %r3, 4;\n"
            "add.s64 %rd6, %rd7, %rd5;\nst.shared.u32 [%rd6], %r3;\nbar.sync 0;\n"
            "ld.shared.u32 %r4, [%rd6];\nadd.s32 %r4, %r4, %r1;\nst.global.u32 [%rd3], %r4;\n",
            indices);
        for (std::size_t i = 0; i < 32; ++i)
            CHECK(stored[i] == (indices[i] & 31) + indices[i]);
    }
}

TEST_CASE("an index that changes between an address and its use doesn't change the address") {
    const auto values = values_of(4096);
    std::vector<std::uint32_t> indices(32);
    for (std::uint32_t i = 0; i < 32; ++i)
        indices[i] = i;
    const auto changed = results_of(
        "mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;\nadd.s32 %r1, %r1, 100;\n"
        "ld.global.u32 %r2, [%rd6];\nst.global.u32 [%rd3], %r2;\n",
        indices);
    // The address of the first round is used in all of them.
    const auto in_loop = results_of(
        "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, %r1;\n"
        "mul.wide.s32 %rd5, %r7, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
        "AGAIN:\nld.global.u32 %r2, [%rd6];\nadd.s32 %r6, %r6, %r2;\nadd.s32 %r7, %r7, 1;\n"
        "add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 3;\n@%p1 bra AGAIN;\n"
        "st.global.u32 [%rd3], %r6;\n",
        indices);
    // The address and its index are made anew in each round.
    const auto anew = results_of(
        "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\n"
        "AGAIN:\nadd.s32 %r7, %r1, %r5;\nmul.wide.s32 %rd5, %r7, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
        "ld.global.u32 %r2, [%rd6];\nadd.s32 %r6, %r6, %r2;\n"
        "add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 3;\n@%p1 bra AGAIN;\n"
        "st.global.u32 [%rd3], %r6;\n",
        indices);
    // In the second round, the address of the first one is used, although its index has changed.
    const auto late = results_of(
        "mov.u32 %r5, 0;\nmov.u32 %r6, 0;\n"
        "AGAIN:\nadd.s32 %r7, %r1, %r5;\nsetp.ne.s32 %p2, %r5, 0;\n@%p2 bra SKIP;\n"
        "mul.wide.s32 %rd5, %r7, 4;\nadd.s64 %rd6, %rd1, %rd5;\n"
        "SKIP:\nld.global.u32 %r2, [%rd6];\nadd.s32 %r6, %r6, %r2;\n"
        "add.s32 %r5, %r5, 1;\nsetp.lt.s32 %p1, %r5, 3;\n@%p1 bra AGAIN;\n"
        "st.global.u32 [%rd3], %r6;\n",
        indices);
    for (std::size_t i = 0; i < 32; ++i) {
        CHECK(changed[i] == values[2048 + i]);
        CHECK(in_loop[i] == 3 * values[2048 + i]);
        CHECK(anew[i] == values[2048 + i] + values[2049 + i] + values[2050 + i]);
        CHECK(late[i] == 3 * values[2048 + i]);
    }
}

TEST_CASE("an address that is also a value is kept") {
    std::vector<std::uint32_t> indices(32, 3);
    const auto kept = results_of(
        "mul.wide.s32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;\nld.global.u32 %r2, [%rd6];\n"
        "sub.s64 %rd7, %rd6, %rd1;\ncvt.u32.u64 %r3, %rd7;\nst.global.u32 [%rd3], %r3;\n",
        indices);
    CHECK(std::ranges::all_of(kept, [](std::uint32_t one) { return one == 12; }));
}

TEST_CASE("a comparison and the branch after it") {
    std::vector<std::uint32_t> indices(32);
    for (std::uint32_t i = 0; i < 32; ++i)
        indices[i] = i;
    const auto run = [&](std::string_view body) { return results_of(body, indices); };
    // The predicate is used after the branch as well, and the branch may be negated.
    const auto plain = run(
        "mov.u32 %r2, 1;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra DONE;\nmov.u32 %r2, 2;\n"
        "DONE:\nselp.u32 %r3, 10, 20, %p1;\nadd.u32 %r2, %r2, %r3;\nst.global.u32 [%rd3], %r2;\n");
    const auto negated =
        run("mov.u32 %r2, 1;\nsetp.lt.u32 %p1, %r1, 7;\n@!%p1 bra DONE;\nmov.u32 %r2, 2;\n"
            "DONE:\nst.global.u32 [%rd3], %r2;\n");
    // The comparison is guarded, but not the branch.
    const auto guarded =
        run("mov.u32 %r2, 1;\nsetp.ge.u32 %p2, %r1, 16;\nsetp.ge.u32 %p1, %r1, 0;\n"
            "@%p2 setp.lt.u32 %p1, %r1, 20;\n@%p1 bra DONE;\nmov.u32 %r2, 2;\n"
            "DONE:\nst.global.u32 [%rd3], %r2;\n");
    // The branch is the target of another one.
    const auto entered =
        run("mov.u32 %r2, 1;\nsetp.lt.u32 %p1, %r1, 7;\nsetp.lt.u32 %p3, %r1, 3;\n"
            "@%p3 bra TEST;\nsetp.ge.u32 %p1, %r1, 20;\n"
            "TEST:\n@%p1 bra DONE;\nmov.u32 %r2, 2;\nDONE:\nst.global.u32 [%rd3], %r2;\n");
    for (std::uint32_t i = 0; i < 32; ++i) {
        CHECK(plain[i] == (i < 7 ? 11 : 22));
        CHECK(negated[i] == (i < 7 ? 2 : 1));
        CHECK(guarded[i] == (i < 16 || i < 20 ? 1 : 2));
        CHECK(entered[i] == (i < 3 || i >= 20 ? 1 : 2));
    }
}

TEST_CASE("instructions that share an op are counted one by one") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        three_pointers, std::string(head) + "mov.u32 %r5, 0;\nAGAIN:\nadd.s32 %r5, %r5, 1;\n"
                                            "setp.lt.s32 %p1, %r5, 10;\n@%p1 bra AGAIN;\n"));
    const std::uint64_t at = rig.put(std::vector<std::uint32_t>(64));
    const LaunchOutcome outcome = rig.run(*module, "k", {1}, {32}, at, at, at);
    REQUIRE(outcome.fault == Fault::none);
    CHECK(outcome.warp_instructions == 8 + 1 + 10 * 3 + 1);
}

}  // namespace lode::emulator::exec::testing
