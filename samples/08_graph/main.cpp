// Captures twenty launches of a small kernel into a graph, launches the graph 100 times and changes
// one of its nodes. Compares the time with that of the same launches on a stream.
//
//     cmake -B build && cmake --build build && build/08_graph
//     20 kernels on …: launched on the stream … µs, as a graph … µs
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

constexpr int n = 1000;
constexpr int kernels = 20;
constexpr int repeats = 100;

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto add =
        unwrap(device.load<void(int*, int, int)>(lode_embedded::kernels()[0].source(), "add"));
    auto x = unwrap(device.alloc<int>(n));
    unwrap(x.zero());
    const auto stream = unwrap(device.create_stream());
    int expected = 0;
    const auto all_equal = [&](int amount, const char* what) {
        expected += amount;
        const auto values = unwrap(x.to_vector());
        check(std::count(values.begin(), values.end(), expected) == n, what);
    };

    const auto launch_all = [&]() -> lode::Status {
        lode::Status launched;
        for (int i = 0; launched && i < kernels; ++i)
            launched = add.launch(stream, lode::cover(n), x, 1, n);
        return launched;
    };
    const lode::TimingOptions timing{.warm_ups = 0, .measurements = 1, .runs = repeats};
    unwrap(launch_all());  // Warms up.
    const auto streamed = unwrap(lode::time_work(device, stream, timing, launch_all));
    all_equal(kernels * (repeats + 1), "the launches on the stream add 1 each");

    auto capture = unwrap(lode::Capture::begin(stream));
    unwrap(launch_all());
    const auto captured = unwrap(capture.finish());
    all_equal(0, "captured launches don't run");
    auto executable = unwrap(captured.instantiate());
    unwrap(executable.upload(stream));
    const auto launch_graph = [&] { return executable.launch(stream); };
    const auto replayed = unwrap(lode::time_work(device, stream, timing, launch_graph));
    all_equal(kernels * repeats, "the graph's launches add the same");

    const auto nodes = unwrap(captured.nodes());
    check(nodes.size() == kernels, "the graph has one node per launch");
    constexpr int more = 5;
    unwrap(executable.set_kernel(nodes.front(), add, lode::cover(n), x, more, n));
    for (int i = 0; i < repeats; ++i)
        unwrap(executable.launch(stream));
    unwrap(stream.sync());
    all_equal((kernels - 1 + more) * repeats, "the changed node adds 5");

    std::printf("%d kernels on %s: launched on the stream %.1f µs, as a graph %.1f µs\n", kernels,
                device.name().c_str(), streamed.min_ms * 1e3, replayed.min_ms * 1e3);
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
