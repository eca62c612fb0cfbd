// What code on a device can use by itself: its heap, its stack, its clocks, printf and assert.
#include "tests/gpu/support.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/second_process.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

using namespace lode;
using namespace lode::test;

namespace {

/// The whole text of a file.
std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Loads several kernels of one source.
Library load_all(const Device& device, std::string_view source) {
    const auto image = require(device.compile(Source::text(std::string(source), "device_code.cu")));
    return require(device.load(image));
}

constexpr unsigned heap_blocks = 3;
constexpr unsigned heap_threads = 96;
constexpr unsigned heap_all = heap_blocks * heap_threads;

/// Programming Guide B.18.3: memory of each thread and of each block, kept between launches.
constexpr const char* heap_kernels = R"(
__device__ unsigned* of_blocks[3];

extern "C" __global__ void acquire(unsigned** of_threads) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    of_threads[i] = static_cast<unsigned*>(malloc((i % 7 + 1) * sizeof(unsigned)));
    if (of_threads[i] != nullptr)
        for (unsigned k = 0; k <= i % 7; ++k) of_threads[i][k] = 1000 * i + k;
    if (threadIdx.x == 0)
        of_blocks[blockIdx.x] = static_cast<unsigned*>(malloc(blockDim.x * sizeof(unsigned)));
    __syncthreads();
    if (of_blocks[blockIdx.x] != nullptr) of_blocks[blockIdx.x][threadIdx.x] = 7 * i;
}

extern "C" __global__ void use(unsigned** of_threads, unsigned* sums) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (unsigned k = 0; k <= i % 7; ++k) sum += of_threads[i][k];
    unsigned* const shared = of_blocks[blockIdx.x];
    sums[i] = sum + shared[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    shared[threadIdx.x] += 1;
}

extern "C" __global__ void release(unsigned** of_threads, unsigned* last) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    free(of_threads[i]);
    last[i] = of_blocks[blockIdx.x][threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(of_blocks[blockIdx.x]);
})";

constexpr const char* clock_kernel = R"(
__device__ unsigned long long global_nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

extern "C" __global__ void k(int rounds, long long* cycles, unsigned* low_cycles,
                             unsigned long long* nanoseconds, unsigned* values) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i;
    nanoseconds[2 * i] = global_nanoseconds();
    long long times[5];
    times[0] = clock64();
    const clock_t first = clock();
    for (int phase = 1; phase < 4; ++phase) {
        for (int round = 0; round < rounds; ++round)  // Volatile: it stays between the readings.
            asm volatile("mad.lo.u32 %0, %0, 1664525, 1013904223;" : "+r"(value));
        times[phase] = clock64();
    }
    low_cycles[i] = static_cast<unsigned>(clock()) - static_cast<unsigned>(first);
    times[4] = clock64();
    nanoseconds[2 * i + 1] = global_nanoseconds();
    for (int reading = 0; reading < 5; ++reading) cycles[5 * i + reading] = times[reading];
    values[i] = value;
})";

/// Each call needs at least 128 bytes, because its caller reads what it writes.
constexpr const char* recursive_kernel = R"(
__device__ __noinline__ void descend(unsigned depth, unsigned* above) {
    unsigned own[32];
    for (unsigned i = 0; i < 32; ++i) own[i] = above[i] * 3 + depth + i;
    if (depth > 0) descend(depth - 1, own);
    above[depth % 32] += own[(depth + 31) % 32];
}

extern "C" __global__ void k(unsigned depth, unsigned* out) {
    unsigned first[32];
    for (unsigned i = 0; i < 32; ++i) first[i] = threadIdx.x + i;
    descend(depth, first);
    unsigned sum = 0;
    for (unsigned i = 0; i < 32; ++i) sum = sum * 5 + first[i];
    out[threadIdx.x] = sum;
})";
constexpr unsigned recursion_depth = 40;
constexpr unsigned recursive_threads = 64;
constexpr std::size_t small_stack = 1024;
constexpr std::size_t large_stack = 24 * 1024;

/// The same on the host.
void descend(unsigned depth, std::array<unsigned, 32>& above) {
    std::array<unsigned, 32> own{};
    for (unsigned i = 0; i < 32; ++i)
        own[i] = above[i] * 3 + depth + i;
    if (depth > 0) descend(depth - 1, own);
    above[depth % 32] += own[(depth + 31) % 32];
}

unsigned recursive_value(unsigned thread) {
    std::array<unsigned, 32> first{};
    for (unsigned i = 0; i < 32; ++i)
        first[i] = thread + i;
    descend(recursion_depth, first);
    unsigned sum = 0;
    for (const unsigned value : first)
        sum = sum * 5 + value;
    return sum;
}

}  // namespace

TEST_CASE("device code: memory of malloc outlives its launch, until a later one frees it") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto library = load_all(device, heap_kernels);
    const auto acquire = require(library.kernel<void(unsigned**)>("acquire"));
    const auto use = require(library.kernel<void(unsigned**, unsigned*)>("use"));
    const auto release = require(library.kernel<void(unsigned**, unsigned*)>("release"));
    const auto stream = require(device.create_stream());
    auto pointers = require(device.alloc<unsigned*>(heap_all));
    auto sums = require(device.alloc<unsigned>(heap_all));
    auto last = require(device.alloc<unsigned>(heap_all));
    const LaunchShape shape{.grid = {heap_blocks}, .block = {heap_threads}};
    for (int round = 0; round < 2; ++round) {
        require(acquire.launch(stream, shape, pointers));
        require(stream.sync());
        auto addresses = require(pointers.to_vector());
        REQUIRE(std::ranges::count(addresses, nullptr) == 0);
        std::ranges::sort(addresses);
        CHECK(std::ranges::adjacent_find(addresses) == addresses.end());

        require(use.launch(stream, shape, pointers, sums));
        require(release.launch(stream, shape, pointers, last));
        const auto found_sums = require(sums.to_vector());
        const auto found_last = require(last.to_vector());
        unsigned wrong = 0;
        for (unsigned i = 0; i < heap_all; ++i) {
            unsigned sum = 0;
            for (unsigned k = 0; k <= i % 7; ++k)
                sum += 1000 * i + k;
            const unsigned thread = i % heap_threads;
            const unsigned opposite = i - thread + heap_threads - 1 - thread;
            if (found_sums[i] != sum + 7 * opposite || found_last[i] != 7 * i + 1) ++wrong;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("device code: a kernel measures itself") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int, long long*, unsigned*, unsigned long long*, unsigned*)>(
        device, clock_kernel);
    constexpr unsigned blocks = 2;
    constexpr unsigned threads = 64;
    constexpr unsigned all = blocks * threads;
    constexpr std::size_t readings = 5;
    constexpr int rounds = 1000;
    auto cycles = require(device.alloc<long long>(readings * all));
    auto low_cycles = require(device.alloc<unsigned>(all));
    auto nanoseconds = require(device.alloc<unsigned long long>(std::size_t{2} * all));
    auto values = require(device.alloc<unsigned>(all));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.grid = {blocks}, .block = {threads}}, rounds, cycles,
                          low_cycles, nanoseconds, values));
    const auto at = require(cycles.to_vector());
    const auto low = require(low_cycles.to_vector());
    const auto global = require(nanoseconds.to_vector());
    const auto results = require(values.to_vector());
    unsigned wrong = 0;
    for (unsigned i = 0; i < all; ++i) {
        const auto* const times = &at[readings * i];
        // Three phases that take time, and then a reading that may be as early as the last.
        bool right = times[0] < times[1] && times[1] < times[2] && times[2] < times[3] &&
                     times[3] <= times[4] && global[2 * i] <= global[2 * i + 1];
        // clock() is the lower half of the same counter.
        right = right && low[i] > 0 && low[i] <= times[4] - times[0];
        unsigned value = i;
        for (int round = 0; round < 3 * rounds; ++round)
            value = value * 1664525U + 1013904223U;
        if (!right || results[i] != value) ++wrong;
    }
    CHECK(wrong == 0);
    MESSAGE("three times " << rounds << " steps in thread 0: " << at[3] - at[0] << " cycles");
}

TEST_CASE("device code: recursion overflows one stack and fits into a larger one") {
    LODE_NEEDS_DEVICE(device, 0);
    CHECK(SecondProcess("device code in a child: a stack overflows").wait() == 0);
    const auto kernel = load<void(unsigned, unsigned*)>(device, recursive_kernel);
    const auto before = require(limit(device, Limit::stack));
    CHECK(require(set_limit(device, Limit::stack, large_stack)) >= large_stack);
    auto out = require(device.alloc<unsigned>(recursive_threads));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.block = {recursive_threads}}, recursion_depth, out));
    const auto values = require(out.to_vector());
    unsigned wrong = 0;
    for (unsigned i = 0; i < recursive_threads; ++i)
        wrong += values[i] == recursive_value(i) ? 0 : 1;
    CHECK(wrong == 0);
    require(set_limit(device, Limit::stack, before));
}

TEST_CASE("device code in a child: a stack overflows" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(unsigned, unsigned*)>(device, recursive_kernel);
    CHECK(require(set_limit(device, Limit::stack, small_stack)) < recursion_depth * 128);
    auto out = require(device.alloc<unsigned>(recursive_threads));
    const auto stream = require(device.create_stream());
    // Without recursion it fits.
    require(kernel.launch(stream, {.block = {recursive_threads}}, 0U, out));
    require(stream.sync());
    require(kernel.launch(stream, {.block = {recursive_threads}}, recursion_depth, out));
    const auto error = require_error(stream.sync());
    MESSAGE(error.describe());
    CHECK(error.code == Errc::device_lost);
    if (machine()->driver().is_emulator()) {
        CHECK(error.native.name == "CUDA_ERROR_HARDWARE_STACK_ERROR");
        CHECK_CONTAINS(error.message, "beyond the stack's limit of");
    }
}

TEST_CASE("device code: a failed assert says where, which thread and what on stderr") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto scratch = make_scratch();
    const std::string file = (scratch.path() / "stderr").string();
    CHECK(SecondProcess("device code in a child: an assert fails", STDERR_FILENO, file).wait() ==
          0);
    const std::string text = text_of(file);
    CHECK_CONTAINS(text, "guarded.cu:3: ");
    CHECK_CONTAINS(text, "guarded");
    CHECK_CONTAINS(text,
                   ": block: [1,0,0], thread: [37,0,0] Assertion "
                   "`threadIdx.x != 37 || blockIdx.x != 1` failed.\n");
    CHECK_FALSE(contains(text, "block: [0,0,0]"));
    CHECK_FALSE(contains(text, "thread: [36,0,0]"));
}

TEST_CASE("device code in a child: an assert fails" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = require(device.load<void()>(Source::text(R"(
extern "C" __global__ void guarded() {
    assert(threadIdx.x != 37 || blockIdx.x != 1);
})",
                                                                 "guarded.cu"),
                                                    "guarded"));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.grid = {2}, .block = {64}}));
    CHECK(require_error(stream.sync()).code == Errc::device_lost);
}

TEST_CASE("device code: a kernel that nothing waits for prints before its device ends") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto scratch = make_scratch();
    const std::string file = (scratch.path() / "stdout").string();
    CHECK(SecondProcess("device code in a child: a late print", STDOUT_FILENO, file).wait() == 0);
    CHECK_CONTAINS(text_of(file), "the kernel has counted to 2147450880\n");
}

TEST_CASE("device code in a child: a late print" * doctest::skip()) {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int)>(device, R"(
extern "C" __global__ void k(int rounds) {
    int sum = 0;
    for (int round = 0; round < rounds; ++round) asm volatile("add.s32 %0, %0, %1;" : "+r"(sum) : "r"(round));
    printf("the kernel has counted to %d\n", sum);
})");
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, LaunchShape{}, 65'536));
}
