// A short kernel after a long one: on a stream of the same priority it waits for free
// multiprocessors; on an urgent stream its blocks go first.
//
//     cmake -B build && cmake --build build && build/14_priorities
//     priorities of …: … (least) to … (greatest)
//     priority … done after … ms; the long kernel after … ms
//     priority … done after … ms; the long kernel after … ms
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdint>
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

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto spin =
        unwrap(device.load<void(unsigned*, int)>(lode_embedded::kernels()[0].source(), "spin"));
    const auto range = unwrap(lode::stream_priorities(device));
    std::printf("priorities of %s: %d (least) to %d (greatest)\n", device.name().c_str(),
                range.least, range.greatest);

    const std::uint32_t few = 8;
    const std::uint32_t many = runtime.driver().is_emulator() ? 64 : 20'000;
    const auto filler = unwrap(device.alloc<unsigned>(std::size_t{many} * threads));
    auto result = unwrap(device.alloc<unsigned>(std::size_t{few} * threads));
    const auto background = unwrap(device.create_stream({.priority = range.least}));
    for (const int priority : {range.least, range.greatest}) {
        const auto urgent = unwrap(device.create_stream({.priority = priority}));
        const auto start = unwrap(device.create_event());
        const auto short_done = unwrap(device.create_event());
        const auto long_done = unwrap(device.create_event());
        unwrap(result.zero());
        unwrap(start.record(background));
        unwrap(spin.launch(background, {.grid = {many}, .block = {threads}}, filler, rounds));
        unwrap(long_done.record(background));
        unwrap(urgent.wait(start));
        unwrap(spin.launch(urgent, {.grid = {few}, .block = {threads}}, result, rounds));
        unwrap(short_done.record(urgent));
        unwrap(device.sync());
        std::printf("priority %2d: done after %.3f ms; the long kernel after %.3f ms\n", priority,
                    unwrap(short_done.elapsed_ms_since(start)),
                    unwrap(long_done.elapsed_ms_since(start)));
        check(is_right(unwrap(result.to_vector())), "the short kernel's numbers");
    }
    check(is_right(unwrap(filler.to_vector())), "the long kernel's numbers");
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
