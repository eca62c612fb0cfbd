// The race check of warpgroups' products (wgmma): waits and fences that are missing, and programs
// that are right without them.
#include "tests/unit/emulator/exec/checked.hpp"

#include <algorithm>

namespace lode::emulator::exec {

using testing::Checked;

namespace {

/// 64 x 16 and 16 x 8 halves, all 1, without a swizzle; the left matrix also in registers.
constexpr const char* product_head = R"(
__device__ unsigned long long descriptor(const void* at) {
    return __cvta_generic_to_shared(at) >> 4 | 8ull << 16 | 16ull << 32;
}
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
#define DOUBLE(x) asm volatile("add.f32 %0, %0, %0;" : "+f"(x)::"memory")
#define SUMS(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define MULTIPLY(d, a, b, adds) asm volatile( \
    "{ .reg .pred p; setp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " \
    "{%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" \
    : SUMS(d) : "l"(descriptor(a)), "l"(descriptor(b)), "r"((int)(adds)) : "memory")
#define MULTIPLY_REGISTERS(d, a, b) asm volatile( \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " \
    "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" \
    : SUMS(d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor(b)) : "memory")
extern "C" __global__ void k(float* out, int rounds) {
    __shared__ alignas(128) unsigned a[2][512], b[2][64];
    __shared__ alignas(8) unsigned long long barrier;
    const int t = threadIdx.x;
    for (int i = t; i < 512; i += blockDim.x)
        a[0][i] = a[1][i] = 0x3c003c00;
    if (t < 64) b[0][t] = b[1][t] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4] = {};
)";
constexpr const char* product_tail = R"(
    if (t < 128)
        for (int i = 0; i < 4; ++i) out[4 * t + i] = d[i];
}
)";

struct Product : Checked {
    explicit Product(const std::string& body)
        : Checked(product_head + body + product_tail, 1, "compute_90a"), out(words(512)) {
        options.checks.race = true;
    }
    std::string found_in(std::uint64_t seed, unsigned threads = 128) {
        options.seed = seed;
        return found({1}, {threads}, out, 6);
    }
    std::uint64_t out;
};

void expect_finding(const std::string& body, std::string_view what, std::string_view line) {
    CAPTURE(body);
    const std::string source = product_head + body;
    const auto at = source.find(line);
    REQUIRE(at != source.npos);
    const auto number =
        1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    for (const std::uint64_t seed : {0, 5, 9}) {
        Product rig(body);
        const std::string found = rig.found_in(seed);
        INFO(found);
        CHECK(found.find(": k ") != found.npos);
        CHECK(found.find(what) != found.npos);
        CHECK(found.find("\n  thread: (") != found.npos);
        CHECK(found.find("checked.cu:" + std::to_string(number)) != found.npos);
    }
}

void expect_no_finding(const std::string& body, float value, unsigned threads = 128) {
    CAPTURE(body);
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7}) {
        Product rig(body);
        CAPTURE(seed);
        CHECK(rig.found_in(seed, threads) == "");
        CHECK(rig.get<float>(rig.out, 512) == std::vector<float>(512, value));
    }
}

}  // namespace

TEST_CASE("products: sums that are used before the wait are found") {
    const char* const wait = "k uses what the product at ";
    expect_finding("FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT;\nDOUBLE(d[1]);\nWAIT(0);", wait,
                   "DOUBLE(d[1])");
    expect_finding(
        "FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT; MULTIPLY(d, a[1], b[1], 1); COMMIT;\n"
        "WAIT(1);\nDOUBLE(d[1]);\nWAIT(0);",
        wait, "DOUBLE(d[1])");
    // Not committed: the wait doesn't wait for it.
    expect_finding("FENCE; MULTIPLY(d, a[0], b[0], 0);\nWAIT(0);\nDOUBLE(d[1]);\nCOMMIT;", wait,
                   "DOUBLE(d[1])");
    // Copies of the sums are pending too.
    expect_finding(
        "float e[4]; FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT;\n"
        "for (int i = 0; i < 4; ++i) asm volatile(\"mov.f32 %0, %1;\" : \"=f\"(e[i]) : "
        "\"f\"(d[i]));\nout[t] = e[2];\nWAIT(0);",
        wait, "out[t] = e[2]");
}

TEST_CASE("products: registers and tiles that are overwritten before the wait are found") {
    expect_finding(
        "unsigned r[4];\nfor (int i = 0; i < 4; ++i) asm volatile(\"mov.b32 %0, 0x3c003c00;\" : "
        "\"=r\"(r[i]));\nFENCE; MULTIPLY_REGISTERS(d, r, b[0]); COMMIT;\n"
        "asm volatile(\"add.u32 %0, %0, 1;\" : \"+r\"(r[3]));\nWAIT(0); "
        "MULTIPLY_REGISTERS(d, r, b[0]); COMMIT; WAIT(0);",
        "k overwrites what the product at ", "asm volatile(\"add.u32");
    expect_finding(
        "FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT; __syncthreads();\nb[0][t % 64] = 0;\nWAIT(0);",
        "race: it writes what the product (wgmma) by the warp of thread (", "b[0][t % 64] = 0");
    expect_finding(
        "FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT; MULTIPLY(d, a[1], b[1], 1); COMMIT; WAIT(1);\n"
        "__syncthreads();\na[1][t] = 0;\nWAIT(0);",
        "which hasn't been waited for", "a[1][t] = 0");
}

TEST_CASE("products: a missing wgmma.fence is found") {
    expect_finding("MULTIPLY(d, a[0], b[0], 0);\nCOMMIT; WAIT(0);",
                   "lacks a wgmma.fence before its first product", "MULTIPLY(d, a[0]");
    expect_finding(
        "FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT; WAIT(0);\n"
        "for (int i = 0; i < 4; ++i) asm volatile(\"add.f32 %0, %0, %0;\" : \"+f\"(d[i]));\n"
        "MULTIPLY(d, a[1], b[1], 1); COMMIT; WAIT(0);",
        "lacks a wgmma.fence after the write at ", "MULTIPLY(d, a[1]");
}

TEST_CASE("products: several in flight are right if each is waited for before its tile changes") {
    expect_no_finding(R"(for (int i = 0; i < rounds; ++i) {
    FENCE; MULTIPLY(d, a[i % 2], b[i % 2], i > 0); COMMIT; WAIT(1);
    __syncthreads();
    if (i > 0 && t < 64) b[(i + 1) % 2][t] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}
WAIT(0);)",
                      96);
    // Two sets of sums change places between products.
    expect_no_finding(R"(float e[4] = {};
for (int i = 0; i < rounds; ++i) {
    FENCE; MULTIPLY(d, a[0], b[0], 1); COMMIT; WAIT(1);
    for (int k = 0; k < 4; ++k) { const float f = d[k]; d[k] = e[k]; e[k] = f; }
}
WAIT(0);
for (int k = 0; k < 4; ++k) asm volatile("" : "+f"(d[k]), "+f"(e[k]));)",
                      48);
}

TEST_CASE("products: one thread's wait is that of the warpgroup") {
    // A thread of the warpgroup tells a warp beside it by an mbarrier that the tile may change.
    expect_no_finding(R"(const unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at) : "memory");
__syncthreads();
if (t < 128) {
    FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT; WAIT(0);
    if (t == 64) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    for (int k = 0; k < 4; ++k) asm volatile("" : "+f"(d[k]));
} else {
    asm volatile("{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n"
                 "@!p bra again; }" ::"r"(at) : "memory");
    b[0][t - 128] = b[0][t - 96] = 0;
})",
                      16, 160);
}

TEST_CASE("products: a warp that never commits leaves the others waiting, and the report says so") {
    Product rig(
        "if (t < 96) { FENCE; MULTIPLY(d, a[0], b[0], 0); COMMIT; WAIT(0); }\n"
        "__syncthreads();");
    const std::string found = rig.found_in(0);
    INFO(found);
    CHECK(found.find("waits for products (wgmma) that other warps of its warpgroup haven't "
                     "committed") != found.npos);
}

}  // namespace lode::emulator::exec
