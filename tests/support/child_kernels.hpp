// Programs whose kernels launch kernels, with what the host computes for them. For the software
// device and for GPUs.
#pragma once

#include "tests/support/result.hpp"

#include <lode/lode.hpp>
#include <lode/runtime/driver_linker.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

namespace lode::test {

/// `sort` is a quicksort, `sum` a sum of halves that tails add up, `errors` records what wrong
/// launches return.
inline constexpr const char* child_kernels = R"(
extern "C" __global__ void sort(unsigned* a, int n) {
    const unsigned middle = a[n / 2];
    int i = 0, j = n - 1;
    while (i <= j) {
        while (a[i] < middle) ++i;
        while (a[j] > middle) --j;
        if (i <= j) { const unsigned t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (j > 0) sort<<<1, 1, 0, stream>>>(a, j + 1);
    if (i < n - 1) sort<<<1, 1>>>(a + i, n - i);
    cudaStreamDestroy(stream);
}

__global__ void add(unsigned* a, int step) { a[0] += a[step]; }

// Sums n numbers, a power of two, into the first.
extern "C" __global__ void sum(unsigned* a, int n) {
    if (n > 1024) {
        if (threadIdx.x != 0) return;
        sum<<<1, 32, 0, cudaStreamFireAndForget>>>(a, n / 2);
        sum<<<1, 32>>>(a + n / 2, n / 2);
        add<<<1, 1, 0, cudaStreamTailLaunch>>>(a, n / 2);
        return;
    }
    unsigned part = 0;
    for (int i = threadIdx.x; i < n; i += 32) part += a[i];
    for (int lane = 16; lane > 0; lane /= 2) part += __shfl_xor_sync(~0u, part, lane);
    if (threadIdx.x == 0) a[0] = part;
}

__global__ void set(int* to, int value) { *to = value; }

extern "C" __global__ void errors(int* to) {
    if (threadIdx.x == 1) {
        set<<<1, 2048>>>(to, 1);
        __syncwarp();
    } else {
        __syncwarp();
        to[1] = cudaGetLastError();  // Another thread's error isn't this one's.
        set<<<1, 2048>>>(to, 1);
        to[2] = cudaPeekAtLastError();
        to[3] = cudaGetLastError();
        to[4] = cudaGetLastError();
        set<<<1, 1>>>(to, 7);
    }
}
)";

inline std::vector<std::uint32_t> random_numbers(std::size_t count) {
    std::vector<std::uint32_t> numbers(count);
    std::uint32_t last = 7;
    for (std::uint32_t& number : numbers)
        number = (last = last * 1664525 + 1013904223) >> 8;
    return numbers;
}

/// Runs the kernels and compares what they leave with the host's results.
inline void check_child_kernels(const Device& device, Image linked) {
    const auto library = require(device.load(std::move(linked)));
    const auto stream = require(device.create_stream());
    const auto run = [&](const char* name, std::vector<std::uint32_t> numbers, unsigned threads) {
        const auto kernel = require(library.kernel<void(std::uint32_t*, int)>(name));
        const auto there = require(device.upload(numbers));
        const LaunchShape shape{.grid = {1, 1, 1}, .block = {threads, 1, 1}};
        require(kernel.launch(stream, shape, there, static_cast<int>(numbers.size())));
        require(stream.sync());
        return require(there.to_vector());
    };
    auto numbers = random_numbers(2000);
    const auto sorted = run("sort", numbers, 1);
    std::ranges::sort(numbers);
    CHECK(sorted == numbers);

    numbers = random_numbers(1 << 17);
    CHECK(run("sum", numbers, 32).front() ==
          std::accumulate(numbers.begin(), numbers.end(), std::uint32_t{0}));

    const auto errors = require(library.kernel<void(int*)>("errors"));
    const auto to = require(device.upload(std::vector<int>(5, -1)));
    require(errors.launch(stream, LaunchShape{.grid = {1, 1, 1}, .block = {2, 1, 1}}, to));
    require(stream.sync());
    constexpr int invalid_configuration = 9;
    CHECK(require(to.to_vector()) ==
          std::vector{7, 0, invalid_configuration, invalid_configuration, 0});
}

}  // namespace lode::test
