// Captures twenty launches of a small kernel into a graph, launches the graph 100 times and changes
// one of its nodes. Compares the time with that of the same launches on a stream.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>

namespace {

constexpr int n = 1000;
constexpr int kernels = 20;
constexpr int repeats = 100;

void graph() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto add = lode::unwrap(device.load<void(int*, int, int)>(
        lode::Source::file(sample::kernel_file("add.cu")), "add"));
    auto x = lode::unwrap(device.alloc<int>(n));
    lode::unwrap(x.zero());
    const auto stream = lode::unwrap(device.create_stream());
    int expected = 0;
    const auto all_equal = [&](int amount, const char* what) {
        expected += amount;
        const auto values = lode::unwrap(x.to_vector());
        sample::check(std::count(values.begin(), values.end(), expected) == n, what);
    };

    const auto launch_all = [&]() -> lode::Status {
        lode::Status launched;
        for (int i = 0; launched && i < kernels; ++i)
            launched = add.launch(stream, lode::cover(n), x, 1, n);
        return launched;
    };
    const lode::TimingOptions timing{.warm_ups = 0, .measurements = 1, .runs = repeats};
    lode::unwrap(launch_all());  // Warms up.
    const auto streamed = lode::unwrap(lode::time_work(device, stream, timing, launch_all));
    all_equal(kernels * (repeats + 1), "the launches on the stream add 1 each");

    auto capture = lode::unwrap(lode::Capture::begin(stream));
    lode::unwrap(launch_all());
    const auto captured = lode::unwrap(capture.finish());
    all_equal(0, "captured launches don't run");
    auto executable = lode::unwrap(captured.instantiate());
    lode::unwrap(executable.upload(stream));
    const auto launch_graph = [&] { return executable.launch(stream); };
    const auto replayed = lode::unwrap(lode::time_work(device, stream, timing, launch_graph));
    all_equal(kernels * repeats, "the graph's launches add the same");

    const auto nodes = lode::unwrap(captured.nodes());
    sample::check(nodes.size() == kernels, "the graph has one node per launch");
    constexpr int more = 5;
    lode::unwrap(executable.set_kernel(nodes.front(), add, lode::cover(n), x, more, n));
    for (int i = 0; i < repeats; ++i)
        lode::unwrap(executable.launch(stream));
    lode::unwrap(stream.sync());
    all_equal((kernels - 1 + more) * repeats, "the changed node adds 5");

    std::printf("%d kernels on %s: launched on the stream %.1f µs, as a graph %.1f µs\n", kernels,
                device.name().c_str(), streamed.min_ms * 1e3, replayed.min_ms * 1e3);
}

}  // namespace

int main() {
    return sample::run(graph);
}
