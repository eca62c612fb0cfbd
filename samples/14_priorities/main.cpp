// A short kernel after a long one: on a stream of the same priority it waits for free
// multiprocessors; on an urgent stream its blocks go first.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::uint32_t threads = 256;
constexpr int rounds = 200;

/// The numbers that `blocks` blocks of the kernel write.
bool is_right(const std::vector<unsigned>& values) {
    for (unsigned i = 0; i < values.size(); ++i) {
        unsigned value = i;
        for (int round = 0; round < rounds; ++round)
            value = value * 1664525U + 1013904223U;
        if (values[i] != value) return false;
    }
    return true;
}

void priorities() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto spin = lode::unwrap(device.load<void(unsigned*, int)>(
        lode::Source::file(sample::kernel_file("spin.cu")), "spin"));
    const auto range = lode::unwrap(lode::stream_priorities(device));
    std::printf("priorities of %s: %d (least) to %d (greatest)\n", device.name().c_str(),
                range.least, range.greatest);

    const std::uint32_t few = 8;
    const std::uint32_t many = runtime.driver().is_emulator() ? 64 : 20'000;
    const auto filler = lode::unwrap(device.alloc<unsigned>(std::size_t{many} * threads));
    auto result = lode::unwrap(device.alloc<unsigned>(std::size_t{few} * threads));
    const auto background = lode::unwrap(device.create_stream({.priority = range.least}));
    for (const int priority : {range.least, range.greatest}) {
        const auto urgent = lode::unwrap(device.create_stream({.priority = priority}));
        const auto start = lode::unwrap(device.create_event());
        const auto short_done = lode::unwrap(device.create_event());
        const auto long_done = lode::unwrap(device.create_event());
        lode::unwrap(result.zero());
        lode::unwrap(start.record(background));
        lode::unwrap(spin.launch(background, {.grid = {many}, .block = {threads}}, filler, rounds));
        lode::unwrap(long_done.record(background));
        lode::unwrap(urgent.wait(start));
        lode::unwrap(spin.launch(urgent, {.grid = {few}, .block = {threads}}, result, rounds));
        lode::unwrap(short_done.record(urgent));
        lode::unwrap(device.sync());
        std::printf("priority %2d: done after %.3f ms; the long kernel after %.3f ms\n", priority,
                    lode::unwrap(short_done.elapsed_ms_since(start)),
                    lode::unwrap(long_done.elapsed_ms_since(start)));
        sample::check(is_right(lode::unwrap(result.to_vector())), "the short kernel's numbers");
    }
    sample::check(is_right(lode::unwrap(filler.to_vector())), "the long kernel's numbers");
}

}  // namespace

int main() {
    return sample::run(priorities);
}
