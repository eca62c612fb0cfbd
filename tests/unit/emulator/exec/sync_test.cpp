// The check of barriers, warp operations and mbarriers, and the reports of where warps stand.
#include "tests/unit/emulator/exec/checked.hpp"

namespace lode::emulator::exec {

using testing::Checked;

namespace {

constexpr const char* sync_head =
    "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n"
    "__shared__ unsigned s[256];\n__shared__ unsigned long long bar;\n"
    "const unsigned where = static_cast<unsigned>(__cvta_generic_to_shared(&bar));\n"
    "const int lane = threadIdx.x % 32;\n(void)s; (void)where; (void)lane; s[threadIdx.x] = n;\n";

/// What the check finds in a body; the report of the fault, if there is one.
std::string sync_findings(const std::string& body, Dim3 block, std::uint64_t seed = 0) {
    Checked rig(sync_head + body + "\n}\n");
    rig.options.checks.sync = true;
    rig.options.seed = seed;
    const auto a = rig.words(1024);
    return rig.found({2}, block, a, a, a, 64);
}

void expect_sync(const std::string& body, Dim3 block, std::string_view what) {
    CAPTURE(body);
    const std::string found = sync_findings(body, block);
    INFO(found);
    CHECK(found.find(what) != std::string::npos);
    CHECK(found.find("checked.cu:") != std::string::npos);
}

void expect_fine(const std::string& body, Dim3 block) {
    CAPTURE(body);
    for (const std::uint64_t seed : {0, 3, 8})
        CHECK(sync_findings(body, block, seed) == "");
}

}  // namespace

TEST_CASE("sync: a shuffle from a lane that takes no part is found") {
    expect_sync("a[lane] = __shfl_sync(0xffffffffu, lane, 25);", {20},
                "reads the value of a lane that doesn't exist in a shuffle\n  lanes: lane 0 reads "
                "that of lane 25, with the member mask 0xffffffff");
    expect_sync(
        "if (lane < 16) a[lane] = __shfl_xor_sync(0xffffu, lane, 16);", {32},
        "reads the value of a lane that isn't in the shuffle's member mask\n  lanes: lane 0 "
        "reads that of lane 16, with the member mask 0x0000ffff");
    expect_sync("if (lane >= 24) return;\na[lane] = __shfl_down_sync(~0u, lane, 16);", {32},
                "reads the value of a lane that has exited in a shuffle");
}

TEST_CASE("sync: what a lane takes from an absent lane is found where it is used") {
    // As in a tree over the peers of a lane, whose last one has no next.
    const std::string next =
        "int next = lane < 15 ? lane + 1 : -1;\n"
        "unsigned mask = lane < 16 ? 0xffffu : 0xffff0000u;\n"
        "if (lane >= 16) return;\n";
    expect_fine(next + "unsigned v = __shfl_sync(mask, lane, next);\nif (next >= 0) a[lane] = v;",
                {32});
    // An addition whose result isn't selected, in integers and in floats.
    expect_fine(next +
                    "unsigned v = __shfl_sync(mask, lane, next);\nunsigned sum = lane;\n"
                    "if (next >= 0) sum += v;\na[lane] = sum;",
                {32});
    expect_fine(next +
                    "float v = __shfl_sync(mask, (float)lane, next), sum = lane;\n"
                    "if (next >= 0) sum += v;\na[lane] = __float_as_uint(sum);",
                {32});
    expect_fine(next +
                    "unsigned v = lane;\nasm volatile(\"shfl.sync.idx.b32 %0, %0, %1, 31, %2;\" : "
                    "\"+r\"(v) : \"r\"(next), \"r\"(mask));\nv = lane;\na[lane] = v;",
                {32});
    const std::string_view found =
        "reads the value of a lane that isn't in the shuffle's member mask\n  lanes: lane 15 reads "
        "that of lane 31, with the member mask 0x0000ffff\n  use: thread (15,0,0) of block "
        "(0,0,0), checked.cu:";
    expect_sync(next + "unsigned v = __shfl_sync(mask, lane, next);\nif (lane > 3) a[lane] = v;",
                {32}, found);
    expect_sync(next +
                    "float v = __shfl_sync(mask, (float)lane, next), sum = lane;\n"
                    "if (lane > 3) sum += v;\na[lane] = __float_as_uint(sum);",
                {32}, found);
    expect_sync(next +
                    "float v = __shfl_sync(mask, (float)lane, next);\n"
                    "for (int i = 0; i < 3; ++i) v = lane & 1 ? v * v : v + 1;\n"
                    "if (v > 2 && lane > 3) a[lane] = 1;",
                {32}, found);
}

TEST_CASE("sync: lanes of one operation with different masks are found") {
    expect_sync(
        "unsigned mask = lane < 16 ? 0xffffffffu : 0xffff0000u;\n"
        "a[lane] = __ballot_sync(mask, lane > 3);",
        {32}, "masks: 0xffffffff of lane 0, 0xffff0000 of lane 16");
}

TEST_CASE("sync: a lane outside of its own mask, and lanes that never come") {
    expect_sync("a[lane] = __any_sync(0xffffu, lane);", {32}, "leaves its own lane out");
    expect_sync("if (lane < 8) { __syncwarp(0xffff); a[lane] = 1; } else __syncwarp(0xff00u);",
                {32}, "");
    expect_sync("if (lane == 0) __syncwarp(3u); else if (lane == 1) __syncthreads();", {64},
                "waits at a warp operation for lanes that never arrive: the lanes 0x00000002");
}

TEST_CASE("sync: barriers in divergent code are found") {
    expect_sync(
        "if (lane < 16) { __syncthreads(); a[0] = s[0]; } else { a[1] = 2; "
        "__syncthreads(); }\na[lane] = 3;",
        {64}, "waits at a barrier in divergent code");
    expect_sync("if (lane < 16) __syncthreads();\na[threadIdx.x] = s[threadIdx.x] + 1;", {64},
                "waits at a barrier in divergent code\n  lanes: 0x0000ffff of the warp are here, "
                "others run on and exit");
    // Whole warps at different barriers of the block.
    expect_sync(
        "if (threadIdx.x < 32) { __syncthreads();\na[0] = s[0]; } else {\na[1] = 2;\n"
        "__syncthreads();\na[2] = 5; }\na[lane] = 3;",
        {64},
        "waits at a barrier in divergent code\n  warps: warp 1 is here, warp 0 waits at another "
        "barrier\n  other: thread (0,0,0) of block (0,0,0), checked.cu:");
    expect_sync("asm volatile(\"bar.sync %0;\" ::\"r\"(lane / 16 + 1));", {32},
                "executes one barrier instruction with several barriers");
}

TEST_CASE("sync: wrong counts of barriers are found") {
    expect_sync("asm volatile(\"bar.sync 1, %0;\" ::\"r\"(n - 24));", {64},
                "isn't a positive multiple of 32");
    expect_sync("asm volatile(\"bar.sync 1, 128;\");", {64},
                "for 128 threads, but its block has 64");
    expect_sync(
        "if (threadIdx.x < 32) asm volatile(\"bar.sync 1, 64;\");\n"
        "else asm volatile(\"bar.sync 1, 96;\");",
        {96}, "but others have arrived for");
    expect_sync("if (threadIdx.x < 32) asm volatile(\"bar.sync 1, 64;\");", {64},
                "waits at barrier 1 with 32 of 64 threads");
}

TEST_CASE("sync: misuse of mbarriers is found") {
    expect_sync(
        "asm volatile(\"{.reg .b64 t; mbarrier.arrive.shared.b64 t, [%0];}\" ::\"r\"(where));", {1},
        "uses an mbarrier that hasn't been initialised\n  mbarrier: offset");
    const std::string init =
        "asm volatile(\"mbarrier.init.shared.b64 [%0], 2;\" ::\"r\"(where));\n";
    expect_sync(init + init, {1}, "initialises an mbarrier that is in use");
    expect_sync(
        "asm volatile(\"mbarrier.init.shared.b64 [%0], %1;\" ::\"r\"(where), \"r\"(n - 64));", {1},
        "with the count 0");
    expect_sync(
        init +
            "asm volatile(\"{.reg .b64 t; mbarrier.arrive.shared.b64 t, [%0], 3;}\" "
            "::\"r\"(where));",
        {1},
        "arrives at an mbarrier more often than it expects\n  count: it arrives 3 times, 2 more");
}

TEST_CASE("sync: right programs are silent") {
    expect_fine("if (threadIdx.x >= 50) return;\n__syncthreads();\na[threadIdx.x] = s[0];", {64});
    expect_fine(
        "unsigned v = lane;\nfor (int d = 16; d > 0; d /= 2) "
        "v += __shfl_down_sync(~0u, v, d);\na[0] = v;",
        {64});
    expect_fine(
        "if (lane < 16) { unsigned v = lane;\nfor (int d = 8; d > 0; d /= 2) "
        "v += __shfl_down_sync(0xffffu, v, d);\na[lane] = v; }",
        {32});
    expect_fine(
        "const unsigned m = __activemask();\nif (lane % 3 == 0) { const unsigned q = "
        "__ballot_sync(0x49249249u, 1);\na[lane] = q + m; __syncwarp(0x49249249u); }",
        {64});
    expect_fine(
        "asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" ::\"r\"(where));\n"
        "asm volatile(\"mbarrier.inval.shared.b64 [%0];\" ::\"r\"(where));\n"
        "asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" ::\"r\"(where));",
        {1});
    // Only aligned barriers of all threads must be the same in all warps.
    for (const std::string barrier : {"barrier.sync 0", "bar.sync 1", "bar.sync 0, 64"}) {
        const std::string meet = "asm volatile(\"" + barrier + ";\" ::: \"memory\");\n";
        expect_fine("if (threadIdx.x < 32) { " + meet + "a[0] = s[0]; } else {\na[1] = 2;\n" +
                        meet + "a[2] = 5; }\na[lane] = 3;",
                    {64});
    }
    expect_fine(
        "for (int i = 0; i < 3; ++i) { if (threadIdx.x < 32) "
        "asm volatile(\"bar.sync 1, 32;\"); __syncthreads(); }",
        {64});
}

TEST_CASE("standing: a time-out says where every warp is") {
    Checked rig(
        "__device__ __noinline__ void spin(volatile unsigned* p) { while (*p == 0) {} }\n"
        "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n"
        "if (threadIdx.x < 32) spin(a);\n__syncthreads();\n}\n");
    rig.options.timeout = std::chrono::milliseconds(30);
    const auto a = rig.words(64);
    const auto outcome = rig.go({1}, {96}, a, a, a, 64);
    CHECK(outcome.fault == Fault::launch_timeout);
    INFO(outcome.report);
    const auto has = [&](std::string_view part) {
        return outcome.report.find(part) != std::string::npos;
    };
    CHECK(has(": k runs longer than the limit of 30 ms\n  warp 0 (lanes 0xffffffff) runs, "));
    CHECK(has("in function spin"));
    CHECK(has("warp 1 (lanes 0xffffffff) waits at barrier 0 with 64 of 96 threads"));
    CHECK(has("warp 2 "));
    CHECK(has("checked.cu:4"));
}

}  // namespace lode::emulator::exec
