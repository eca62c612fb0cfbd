// Programs with one race each: the check must find it and name the place.
#include "tests/unit/emulator/exec/checked.hpp"

#include <algorithm>

namespace lode::emulator::exec {

using testing::Checked;

namespace {

constexpr const char* wrong_head =
    "extern \"C\" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {\n";

/// In order and shuffled, a race in a line with "// race" must be found.
void expect_race(const std::string& body, Dim3 grid, Dim3 block, bool whole = false) {
    const std::string source = whole ? body : wrong_head + body + "\n}\n";
    std::vector<std::string> places;
    for (auto at = source.find("// race"); at != source.npos; at = source.find("// race", at + 1)) {
        const auto line =
            1 + std::count(source.begin(), source.begin() + static_cast<long>(at), '\n');
        for (const char after : {':', ','})
            places.push_back("checked.cu:" + std::to_string(line) + after);
    }
    for (const std::uint64_t seed : {0, 5}) {
        Checked rig(source);
        rig.options.checks.race = true;
        rig.options.seed = seed;
        const auto a = rig.words(4096);
        const auto b = rig.words(4096, 1);
        const auto c = rig.words(4096);
        const std::string found = rig.found(grid, block, a, b, c, 4096);
        INFO(found);
        CAPTURE(body);
        CHECK(found.find(" race: it ") != std::string::npos);
        CHECK(std::ranges::any_of(
            places, [&](const auto& place) { return found.find(place) != std::string::npos; }));
    }
}

}  // namespace

TEST_CASE("race: a missing barrier between a write and a read is found") {
    expect_race(R"(__shared__ unsigned s[256];
s[threadIdx.x] = b[threadIdx.x];
a[threadIdx.x] = s[255 - threadIdx.x];  // race)",
                {1}, {256});
}

TEST_CASE("race: a missing barrier before the next round is found") {
    expect_race(R"(__shared__ unsigned s[128];
for (int i = 0; i < 3; ++i) {
    s[threadIdx.x] = b[threadIdx.x] + i;  // race
    __syncthreads();
    a[threadIdx.x] += s[127 - threadIdx.x];
})",
                {1}, {128});
}

TEST_CASE("race: two threads that store different values are found") {
    expect_race(
        "__shared__ unsigned s[2];\ns[threadIdx.x / 64] = threadIdx.x;  // race\n"
        "__syncthreads(); a[0] = s[0];",
        {1}, {128});
    expect_race("a[0] = blockIdx.x;  // race", {8}, {1});
    expect_race("a[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;  // race", {2}, {64});
    expect_race("a[0] = threadIdx.x;  // race", {1}, {32});
}

TEST_CASE("race: an increment without an atomic is found") {
    expect_race("b[threadIdx.x % 4] = b[threadIdx.x % 4] + threadIdx.x;  // race", {1}, {64});
    expect_race("if (threadIdx.x == 0)\nb[0] = b[0] + 1;  // race", {4}, {32});
}

TEST_CASE("race: a missing warp barrier is found, and a shuffle is none") {
    expect_race(R"(__shared__ unsigned s[32];
s[threadIdx.x] = b[threadIdx.x];
a[threadIdx.x] = s[31 - threadIdx.x];  // race)",
                {1}, {32});
    expect_race(R"(__shared__ unsigned s[32];
s[threadIdx.x] = b[threadIdx.x];
c[threadIdx.x] = __shfl_xor_sync(~0u, threadIdx.x, 1);
a[threadIdx.x] = s[31 - threadIdx.x];  // race)",
                {1}, {32});
}

TEST_CASE("race: a warp barrier doesn't order other warps") {
    expect_race(R"(__shared__ unsigned s[64];
s[threadIdx.x] = b[threadIdx.x];
__syncwarp();
a[threadIdx.x] = s[63 - threadIdx.x];  // race)",
                {1}, {64});
}

TEST_CASE("race: a flag without a fence is found") {
    expect_race(R"(volatile unsigned* flag = c;
if (blockIdx.x == 0) { a[0] = 5; *flag = 1; }
else { while (*flag == 0) {} __threadfence();
b[8] = a[0];  // race
})",
                {2}, {1});
    expect_race(R"(volatile unsigned* flag = c;
if (blockIdx.x == 0) { a[0] = 5; __threadfence(); *flag = 1; }
else { while (*flag == 0) {}
b[8] = a[0];  // race
})",
                {2}, {1});
}

TEST_CASE("race: volatile alone orders nothing") {
    expect_race(R"(__shared__ volatile unsigned s[64];
s[threadIdx.x] = b[threadIdx.x];
__syncthreads();
if (threadIdx.x < 16) {
s[threadIdx.x] += s[threadIdx.x + 16];  // race
s[threadIdx.x] += s[threadIdx.x + 8];  // race
}
a[threadIdx.x] = s[threadIdx.x];)",
                {1}, {32});
    expect_race(R"(volatile unsigned* message = a; volatile unsigned* flag = c;
if (blockIdx.x == 0) { *message = 42; *flag = 1; }
else { while (*flag == 0) {}
b[0] = *message;  // race
})",
                {2}, {1});
}

TEST_CASE("race: a plain store is found after the atomics that have covered it") {
    expect_race(R"(if (blockIdx.x == 0 && threadIdx.x == 0) a[0] = 1;
__syncthreads();
atomicAdd(a, 2u);  // race)",
                {2}, {64});
    expect_race(R"(if (threadIdx.x == 0)
b[0] = 5;  // race
__syncthreads();
atomicMax(b, blockIdx.x + 9);  // race)",
                {3}, {64});
}

TEST_CASE("race: a plain store races with a compare-and-swap and with what it validates") {
    expect_race(R"(if (blockIdx.x == 0) {
b[0] = 5;  // race
} else {
unsigned old = *b, assumed;  // race
do { assumed = old; old = atomicCAS(b, assumed, assumed * 2);  // race
} while (old != assumed);
})",
                {2}, {1});
}

TEST_CASE("race: a fence or an atomic of too small a scope is found") {
    expect_race(R"(volatile unsigned* flag = c;
if (blockIdx.x == 0) { a[0] = 5; __threadfence_block(); *flag = 1; }
else { while (*flag == 0) {} __threadfence();
b[8] = a[0];  // race
})",
                {2}, {1});
    expect_race("atomicAdd_block(&c[0], 1u);  // race", {2}, {32});
}

TEST_CASE("race: the last block without a fence is found") {
    expect_race(R"(__shared__ bool last;
if (threadIdx.x == 0) {
    a[blockIdx.x] = blockIdx.x;
    last = atomicInc(c, gridDim.x) == gridDim.x - 1;
}
__syncthreads();
if (last && threadIdx.x < gridDim.x)
b[threadIdx.x] = a[threadIdx.x];  // race)",
                {8}, {32});
}

TEST_CASE("race: a lock that is only relaxed is found") {
    expect_race(R"(if (threadIdx.x == 0) {
while (atomicCAS(&c[0], 0u, 1u) != 0) {}
a[0] = a[0] + 1;  // race
atomicExch(&c[0], 0u);
})",
                {4}, {32});
}

TEST_CASE("race: an asynchronous copy that nobody waits for is found") {
    expect_race(R"(#include <cuda_pipeline_primitives.h>
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
__shared__ unsigned s[64];
__pipeline_memcpy_async(&s[threadIdx.x], &b[threadIdx.x], 4);
__pipeline_commit();
a[threadIdx.x] = s[threadIdx.x];  // race
})",
                {1}, {64}, true);
    expect_race(R"(#include <cuda_pipeline_primitives.h>
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
__shared__ unsigned s[64];
__pipeline_memcpy_async(&s[threadIdx.x], &b[threadIdx.x], 4);
__pipeline_commit();
__pipeline_wait_prior(0);
a[threadIdx.x] = s[63 - threadIdx.x];  // race
})",
                {1}, {64}, true);
}

TEST_CASE("race: a barrier that is only arrived at orders nothing") {
    expect_race(R"(#include <cuda/barrier>
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
__shared__ cuda::barrier<cuda::thread_scope_block> bar;
__shared__ unsigned s[64];
if (threadIdx.x == 0) init(&bar, 64);
__syncthreads();
s[threadIdx.x] = b[threadIdx.x];
auto token = bar.arrive();
a[threadIdx.x] = s[63 - threadIdx.x];  // race
bar.wait(std::move(token));
})",
                {1}, {64}, true);
}

TEST_CASE("race: a named barrier orders only the threads that use it") {
    expect_race(R"(__shared__ unsigned s[96];
if (threadIdx.x < 64) s[threadIdx.x] = b[threadIdx.x];
else s[threadIdx.x] = n;  // race
if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    a[threadIdx.x] = s[threadIdx.x + 32];  // race
})",
                {1}, {96});
}

TEST_CASE("race: bytes are told apart") {
    expect_race(R"(unsigned char* const bytes = reinterpret_cast<unsigned char*>(a);
bytes[threadIdx.x / 2] = static_cast<unsigned char>(threadIdx.x);  // race)",
                {1}, {64});
}

TEST_CASE("race: on two workers, blocks that write one array are found") {
    Checked rig(std::string(wrong_head) + "a[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;\n}", 2);
    rig.options.checks.race = true;
    for (int k = 0; k < 20; ++k) {
        const auto a = rig.words(64);
        CHECK(rig.found({8}, {64}, a, a, a, 64).find(" in a race with ") != std::string::npos);
    }
}

}  // namespace lode::emulator::exec
