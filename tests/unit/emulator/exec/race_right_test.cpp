// Programs that are right in ways that are hard to see: the race check must accept all of them.
#include "tests/unit/emulator/exec/checked.hpp"

namespace lode::emulator::exec {

using testing::Checked;

namespace {

/// The program has no race, in order and shuffled, on one worker and on two.
void expect_silence(const std::string& source, Dim3 grid, Dim3 block, std::size_t words,
                    bool cooperative = false) {
    for (const unsigned workers : {1u, 2u}) {
        Checked rig(source, workers);
        rig.options.checks.race = true;
        rig.options.cooperative = cooperative;
        for (const std::uint64_t seed : {0, 1, 7}) {
            CAPTURE(workers);
            CAPTURE(seed);
            rig.options.seed = seed;
            const auto a = rig.words(words);
            const auto b = rig.words(words, 1);
            const auto c = rig.words(words);
            CHECK(rig.found(grid, block, a, b, c, static_cast<int>(words)) == "");
        }
    }
}

constexpr const char* head = R"(
#define K extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n)
)";

}  // namespace

TEST_CASE("race: a tiled sum with barriers is right") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned s[256];
    unsigned sum = 0;
    for (int round = 0; round < 4; ++round) {
        s[threadIdx.x] = b[(blockIdx.x * 256 + threadIdx.x + round) % n];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += s[(threadIdx.x + i) % 256];
        __syncthreads();
    }
    a[blockIdx.x * 256 + threadIdx.x] = sum;
})",
                   {4}, {256}, 1024);
}

TEST_CASE("race: the last block sums what the others have left before a fence") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ bool last;
    __shared__ unsigned s[64];
    s[threadIdx.x] = b[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        a[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(c, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) atomicAdd(&c[1], a[threadIdx.x]);
})",
                   {16}, {64}, 1024);
}

TEST_CASE("race: a block waits for another's flag, with fences on both sides") {
    expect_silence(std::string(head) + R"(
K {
    volatile unsigned* flag = c;
    if (blockIdx.x == 0) {
        a[threadIdx.x] = b[threadIdx.x] + 1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) { __threadfence(); *flag = 1; }
    } else {
        if (threadIdx.x == 0) { while (*flag == 0) {} __threadfence(); }
        __syncthreads();
        b[64 + threadIdx.x] = a[63 - threadIdx.x];
    }
})",
                   {2}, {64}, 256);
}

TEST_CASE("race: a chain of blocks passes its sum on (decoupled look-back)") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned number, before;
    if (threadIdx.x == 0) number = atomicAdd(&c[0], 1);
    __syncthreads();
    const unsigned own = number;
    volatile unsigned* state = c + 64;
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        if (own > 0) {
            while (state[own - 1] == 0) {}
            __threadfence();
            sum = a[own - 1];
        }
        before = sum;
        a[own] = sum + b[own];
        __threadfence();
        state[own] = 1;
    }
    __syncthreads();
    b[256 + own * 32 + threadIdx.x] = before;
})",
                   {32}, {32}, 2048);
}

TEST_CASE("race: a warp reduces in shared memory between warp barriers") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ volatile unsigned s[128];
    __shared__ unsigned t[128];
    const int lane = threadIdx.x % 32;
    unsigned v = b[threadIdx.x];
    t[threadIdx.x] = v;
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        if (lane < step) v += t[threadIdx.x + step];
        __syncwarp();
        if (lane < step) t[threadIdx.x] = v;
        __syncwarp();
    }
    if (lane == 0) a[blockIdx.x * 4 + threadIdx.x / 32] = v;
})",
                   {2}, {128}, 256);
}

TEST_CASE("race: tiles of eight lanes synchronise on their own") {
    expect_silence(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
    __shared__ unsigned s[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    for (int round = 0; round < 3; ++round) {
        s[threadIdx.x] = b[threadIdx.x] + round;
        tile.sync();
        const unsigned other = s[threadIdx.x ^ 5];
        tile.sync();
        a[threadIdx.x] += other;
    }
})",
                   {1}, {64}, 256);
}

TEST_CASE("race: named barriers pass work from one half of the block to the other") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned s[2][64];
    for (int round = 0; round < 6; ++round) {
        const int stage = round % 2;
        if (threadIdx.x < 64) {
            if (round >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + stage) : "memory");
            s[stage][threadIdx.x] = b[threadIdx.x] + round;
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + stage) : "memory");
        } else {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + stage) : "memory");
            a[blockIdx.x * 64 + threadIdx.x] += s[stage][127 - threadIdx.x];
            if (round < 4) asm volatile("bar.arrive %0, 128;" ::"r"(3 + stage) : "memory");
        }
    }
})",
                   {2}, {128}, 256);
}

TEST_CASE("race: cuda::barrier in two stages") {
    expect_silence(R"(
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
    __shared__ barrier full[2], empty[2];
    __shared__ unsigned s[2][32];
    if (threadIdx.x < 2) { init(&full[threadIdx.x], 64); init(&empty[threadIdx.x], 64); }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int i = 0; i < 6; ++i) {
            if (i >= 2) empty[i % 2].arrive_and_wait();
            s[i % 2][threadIdx.x] = b[threadIdx.x] + i;
            auto token = full[i % 2].arrive();
        }
    } else {
        for (int i = 0; i < 6; ++i) {
            full[i % 2].arrive_and_wait();
            a[blockIdx.x * 32 + threadIdx.x] += s[i % 2][63 - threadIdx.x];
            if (i < 4) auto token = empty[i % 2].arrive();
        }
    }
})",
                   {2}, {64}, 256);
}

TEST_CASE("race: a pipeline copies ahead") {
    expect_silence(R"(
#include <cuda_pipeline_primitives.h>
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
    __shared__ unsigned s[2][64];
    const int rounds = 4;
    __pipeline_memcpy_async(&s[0][threadIdx.x], &b[threadIdx.x], 4);
    __pipeline_commit();
    unsigned sum = 0;
    for (int i = 0; i < rounds; ++i) {
        if (i + 1 < rounds)
            __pipeline_memcpy_async(&s[(i + 1) % 2][threadIdx.x], &b[(i + 1) * 64 + threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i % 2][63 - threadIdx.x];
        __syncthreads();
    }
    a[blockIdx.x * 64 + threadIdx.x] = sum;
})",
                   {2}, {64}, 256);
}

TEST_CASE("race: a bulk copy arrives at an mbarrier") {
    expect_silence(R"(
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
    __shared__ alignas(16) unsigned s[64];
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    for (int i = 0; i < 3; ++i) {
        barrier::arrival_token token;
        if (threadIdx.x == 0) {
            cuda::memcpy_async(s, b + i * 64, cuda::aligned_size_t<16>(sizeof(s)), bar);
        }
        token = bar.arrive();
        bar.wait(std::move(token));
        a[threadIdx.x] += s[63 - threadIdx.x];
        __syncthreads();
    }
})",
                   {1}, {64}, 256);
}

TEST_CASE("race: a spin lock protects a counter") {
    expect_silence(std::string(head) + R"(
K {
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&c[0], 0u, 1u) != 0) {}
        __threadfence();
        a[0] = a[0] + 1;
        __threadfence();
        atomicExch(&c[0], 0u);
    }
})",
                   {4}, {64}, 64);
    expect_silence(R"(
#include <cuda/atomic>
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> lock(c[0]);
    if (threadIdx.x % 32 == 0) {
        while (lock.exchange(1, cuda::memory_order_acquire) != 0) {}
        a[0] = a[0] + 1;
        lock.store(0, cuda::memory_order_release);
    }
})",
                   {4}, {64}, 64);
}

TEST_CASE("race: a grid's barrier orders all blocks") {
    expect_silence(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned* a, unsigned* b, unsigned* c, int n) {
    auto grid = cg::this_grid();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned count = gridDim.x * blockDim.x;
    unsigned* from = b;
    unsigned* to = a;
    for (int round = 0; round < 4; ++round) {
        to[i] = from[(i + 1) % count] + from[(i + count - 1) % count];
        grid.sync();
        unsigned* const t = from; from = to; to = t;
    }
})",
                   {4}, {64}, 256, true);
}

TEST_CASE("race: neighbouring bytes belong to different threads") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned char s[64];
    s[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(a);
    bytes[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x] + 1;
    s[threadIdx.x] = 3;
})",
                   {3}, {64}, 256);
}

TEST_CASE("race: relaxed atomics and volatile accesses don't race with each other") {
    expect_silence(std::string(head) + R"(
K {
    atomicAdd(&c[threadIdx.x % 4], 1);
    volatile unsigned* const v = c;
    if (v[1] > 1000) a[threadIdx.x] = 7;
    v[5] = 9;
    __shared__ unsigned bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 4], 1);
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&b[threadIdx.x], bins[threadIdx.x]);
})",
                   {4}, {64}, 64);
}

TEST_CASE("race: a compare-and-swap validates what a plain load has read") {
    expect_silence(std::string(head) + R"(
__device__ void add_real(float* at, float value) {
    int* const word = reinterpret_cast<int*>(at);
    int old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(__int_as_float(assumed) + value));
    } while (old != assumed);
}
K { add_real(reinterpret_cast<float*>(a) + threadIdx.x % 2, 1.f); })",
                   {3}, {64}, 64);
}

TEST_CASE("race: each thread's fence before the barrier holds for a flag after it") {
    expect_silence(std::string(head) + R"(
K {
    if (blockIdx.x == 0) {
        a[threadIdx.x] = 100 + threadIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) atomicExch(c, 1);
    } else {
        if (threadIdx.x == 0) {
            while (atomicAdd(c, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        b[threadIdx.x] = a[threadIdx.x];
    }
})",
                   {2}, {96}, 96);
}

TEST_CASE("race: volatile values that decide something may be read at any time") {
    expect_silence(std::string(head) + R"(
K {
    volatile unsigned* const v = c;
    __shared__ unsigned seen;
    if (blockIdx.x == 0) {
        v[threadIdx.x] = 1;
        return;
    }
    // A copy of a flag, by which the whole block decides.
    if (threadIdx.x == 0) seen = v[3];
    __syncthreads();
    if (seen == 7) a[threadIdx.x] = 1;
    unsigned at = v[5] & 1;
    if (b[at] == 9) a[threadIdx.x] = 2;
})",
                   {2}, {32}, 64);
}

TEST_CASE("race: a volatile flag may be read again, as data, once a load has seen it") {
    for (const unsigned threads : {1u, 64u}) {
        expect_silence(std::string(head) + R"(
K {
    volatile unsigned* const flag = c;
    if (blockIdx.x == 1) {
        for (unsigned k = 0; k < 2000; ++k) a[threadIdx.x + 64] = k;
        if (threadIdx.x == 0) *flag = 42;
    } else {
        while (*flag == 0) {}
        if (threadIdx.x == 0) b[0] = *flag;
    }
})",
                       {2}, {threads}, 128);
    }
}

TEST_CASE("race: atomics after a barrier cover the plain store that starts their word") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) { sum = 0; a[blockIdx.x] = 0; }
    __syncthreads();
    atomicAdd(&sum, 1);
    atomicAdd(&a[blockIdx.x], 1);
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x] = sum + a[blockIdx.x];
})",
                   {4}, {64}, 64);
}

TEST_CASE("race: a flag in shared memory with fences of the block") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned data;
    __shared__ volatile unsigned flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 32) { data = 5; __threadfence_block(); flag = 1; }
    if (threadIdx.x == 0) {
        while (flag == 0) {}
        __threadfence_block();
        a[blockIdx.x] = data;
    }
})",
                   {2}, {64}, 64);
}

TEST_CASE("race: threads that leave early don't disturb the barriers of the others") {
    expect_silence(std::string(head) + R"(
K {
    __shared__ unsigned s[128];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x >= 100) return;
    __syncthreads();
    a[threadIdx.x] = s[127 - threadIdx.x];
    __syncthreads();
    s[threadIdx.x] = 2;
})",
                   {1}, {128}, 128);
}

TEST_CASE("race: equal values that several threads store are benign") {
    Checked rig(std::string(head) + R"(
K {
    __shared__ unsigned any;
    if (threadIdx.x == 0) any = 0;
    __syncthreads();
    if (b[threadIdx.x] == 1) any = 1;
    __syncthreads();
    if (any) a[0] = 1;
})");
    rig.options.checks.race = true;
    const auto a = rig.words(64);
    const auto b = rig.words(64, 1);
    const auto outcome = rig.go({2}, {64}, a, b, a, 64);
    CHECK(outcome.fault == Fault::none);
    CHECK(outcome.findings == 0);
    REQUIRE(rig.findings.size() == 2);
    for (const std::string& text : rig.findings) {
        CHECK(text.find(" in a benign race of equal values ") != std::string::npos);
        CHECK(text.find("benign: both store the same value") != std::string::npos);
        CHECK(text.find("cure:") == std::string::npos);
    }
}

}  // namespace lode::emulator::exec
