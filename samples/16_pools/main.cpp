// Temporary memory in the order of a stream: every step allocates a buffer from a pool and frees it
// without waiting. The pool can hand out the same memory again, and gives it back when trimmed.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <vector>

namespace {

void pools() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    sample::check(device.properties().memory_pools, "the device has memory pools");
    const auto library = lode::unwrap(device.load(
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("steps.cu"))))));
    const auto square = lode::unwrap(library.kernel<void(const int*, int*, int)>("square"));
    const auto add_to = lode::unwrap(library.kernel<void(const int*, int*, int)>("add_to"));

    constexpr int n = 1 << 18;
    constexpr int steps = 20;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = i % 1000;
    const auto x = lode::unwrap(device.upload(values));
    auto sum = lode::unwrap(device.alloc<int>(n));
    lode::unwrap(sum.zero());

    // The pool keeps its memory when the stream is synchronised.
    const auto pool =
        lode::unwrap(lode::MemoryPool::create(device, {.release_threshold_bytes = 1ULL << 30}));
    const auto stream = lode::unwrap(device.create_stream());
    for (int step = 0; step < steps; ++step) {
        auto squares = lode::unwrap(pool.allocate<int>(stream, n));
        lode::unwrap(square.launch(stream, lode::cover(n), x, squares.span(), n));
        lode::unwrap(add_to.launch(stream, lode::cover(n), squares.span(), sum, n));
    }  // Each step's memory is freed on the stream, after its kernels.
    lode::unwrap(stream.sync());

    const auto result = lode::unwrap(sum.to_vector());
    for (int i = 0; i < n; ++i)
        sample::check(result[i] == steps * values[i] * values[i], "every sum is right");
    const auto memory = lode::unwrap(pool.statistics());
    std::printf("%d buffers of %zu bytes: at most %llu in use, %llu reserved, %llu in use now\n",
                steps, n * sizeof(int), static_cast<unsigned long long>(memory.used_high),
                static_cast<unsigned long long>(memory.reserved),
                static_cast<unsigned long long>(memory.used));
    sample::check(memory.used == 0, "nothing is in use any more");
    lode::unwrap(pool.trim());
    sample::check(lode::unwrap(pool.statistics()).reserved == 0, "the device has its memory back");
}

}  // namespace

int main() {
    return sample::run(pools);
}
