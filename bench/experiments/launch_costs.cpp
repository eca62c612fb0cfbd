// What a launch costs: without waiting, with waiting after each, and as nodes of a graph; arguments
// checked once (prepared) or each time.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void add(int* x, int y) {
    if (threadIdx.x == 0) *x += y;
})";

void launches(experiment::Bench& bench) {
    using namespace experiment;
    const int count = bench.size(1000, 20);
    const auto add = bench.load<void(int*, int)>(text, "add");
    auto x = unwrap(bench.device.alloc<int>(1));
    unwrap(x.zero());
    unwrap(add.preload());
    const lode::LaunchShape shape{.grid = {1}, .block = {32}};
    int expected = 0;
    const auto microseconds = [&](const std::function<void()>& work, int kernels) {
        unwrap(x.zero());
        int runs = 0;
        const auto time = bench.host_ms([&] {
            work();
            ++runs;
        });
        expected = runs * kernels;
        check(unwrap(x.to_vector())[0] == expected, "every kernel has run");
        return time * (1e3 / kernels);
    };
    const auto queued = microseconds(
        [&] {
            for (int i = 0; i < count; ++i)
                unwrap(add.launch(bench.stream, shape, x, 1));
        },
        count);
    bench.row("a kernel, launched without waiting", queued, "us", at_most(10, "asynchronous"));
    auto step = unwrap(add.prepare(bench.stream, shape, x, 1));
    const auto prepared = microseconds(
        [&] {
            for (int i = 0; i < count; ++i)
                unwrap(step.launch());
        },
        count);
    bench.row("a kernel, prepared", prepared, "us", at_most(10));
    const auto waited = microseconds(
        [&] {
            for (int i = 0; i < count; ++i) {
                unwrap(add.launch(bench.stream, shape, x, 1));
                unwrap(bench.stream.sync());
            }
        },
        count);
    bench.row("a kernel, waited for", waited, "us", reported());
    bench.row("  beside no waiting", waited / queued, "x", at_least(1.5, "wait only where needed"));
    for (const int kernels : {10, 100, count}) {
        auto capture = unwrap(lode::Capture::begin(bench.stream));
        for (int i = 0; i < kernels; ++i)
            unwrap(add.launch(bench.stream, shape, x, 1));
        const auto graph = unwrap(unwrap(capture.finish()).instantiate());
        unwrap(graph.upload(bench.stream));
        const auto time = microseconds([&] { unwrap(graph.launch(bench.stream)); }, kernels);
        bench.row("a kernel of a graph of " + std::to_string(kernels), time, "us", reported());
        if (kernels >= 100)
            bench.row("  gain over single launches", queued / time, "x", at_least(1.1));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Launches don't wait; waiting after each one stalls the device, and a "
                           "graph launches many kernels with one call.",
                           launches);
}
