// Temporary memory in the order of a stream: every step allocates a buffer from a pool and frees it
// without waiting. The pool can hand out the same memory again, and gives it back when trimmed.
//
//     cmake -B build && cmake --build build && build/16_pools
//     20 buffers of 1048576 bytes: at most … in use, … reserved, 0 in use now
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    check(device.properties().memory_pools, "the device has memory pools");
    const auto library =
        unwrap(device.load(unwrap(device.compile(lode_embedded::kernels()[0].source()))));
    const auto square = unwrap(library.kernel<void(const int*, int*, int)>("square"));
    const auto add_to = unwrap(library.kernel<void(const int*, int*, int)>("add_to"));

    constexpr int n = 1 << 18;
    constexpr int steps = 20;
    std::vector<int> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = i % 1000;
    const auto x = unwrap(device.upload(values));
    auto sum = unwrap(device.alloc<int>(n));
    unwrap(sum.zero());

    // The pool keeps its memory when the stream is synchronised.
    const auto pool =
        unwrap(lode::MemoryPool::create(device, {.release_threshold_bytes = 1ULL << 30}));
    const auto stream = unwrap(device.create_stream());
    for (int step = 0; step < steps; ++step) {
        auto squares = unwrap(pool.allocate<int>(stream, n));
        unwrap(square.launch(stream, lode::cover(n), x, squares.span(), n));
        unwrap(add_to.launch(stream, lode::cover(n), squares.span(), sum, n));
    }  // Each step's memory is freed on the stream, after its kernels.
    unwrap(stream.sync());

    const auto result = unwrap(sum.to_vector());
    for (int i = 0; i < n; ++i)
        check(result[i] == steps * values[i] * values[i], "every sum is right");
    const auto memory = unwrap(pool.statistics());
    std::printf("%d buffers of %zu bytes: at most %llu in use, %llu reserved, %llu in use now\n",
                steps, n * sizeof(int), static_cast<unsigned long long>(memory.used_high),
                static_cast<unsigned long long>(memory.reserved),
                static_cast<unsigned long long>(memory.used));
    check(memory.used == 0, "nothing is in use any more");
    unwrap(pool.trim());
    check(unwrap(pool.statistics()).reserved == 0, "the device has its memory back");
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
