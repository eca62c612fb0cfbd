// Conditional nodes of graphs, on a device and on the software device.
#include "tests/gpu/support.hpp"

#include <array>
#include <optional>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

constexpr const char* setters = R"(
extern "C" __global__ void set(cudaGraphConditionalHandle condition, unsigned value) {
    cudaGraphSetConditional(condition, value);
}
// Counts a run of a loop, which goes on as long as `left` isn't 0 after this.
extern "C" __global__ void step(cudaGraphConditionalHandle condition, int* left, int* runs) {
    ++*runs;
    cudaGraphSetConditional(condition, --*left > 0);
}
// Starts a loop of `n` runs.
extern "C" __global__ void start(cudaGraphConditionalHandle condition, int* left, int n) {
    *left = n;
    cudaGraphSetConditional(condition, n > 0);
}
extern "C" __global__ void add(int* x, int n) { *x += n; }
)";

/// The kernels, with CUDA's device runtime if the device needs it.
Result<Library> load_setters(const Device& device) {
    const auto image = require(
        device.compile(Source::text(setters, "setters.cu"), {.compile = {.relocatable = true}}));
    if (machine()->driver().is_emulator()) return device.load(image);
    auto runtime = LinkInput::device_runtime();
    if (!runtime) return tl::unexpected(std::move(runtime).error());
    const std::vector inputs{require(LinkInput::from_image(image)), *std::move(runtime)};
    auto linked = Linker().link(inputs, Arch(device.cc()));
    if (!linked) return tl::unexpected(std::move(linked).error());
    return device.load(*std::move(linked));
}

/// The kernels, a stream and three numbers on a device.
struct Bench {
    Bench(const Device& on, const Library& library)
        : device(on),
          set(require(library.kernel<void(NativeGraphCondition, unsigned)>("set"))),
          step(require(library.kernel<void(NativeGraphCondition, int*, int*)>("step"))),
          start(require(library.kernel<void(NativeGraphCondition, int*, int)>("start"))),
          add(require(library.kernel<void(int*, int)>("add"))),
          stream(require(on.create_stream())),
          numbers(require(on.alloc<int>(3))) {
        put({0, 0, 0});
    }
    void put(const std::vector<int>& values) { require(numbers.copy_from(values)); }
    [[nodiscard]] std::vector<int> get() const { return require(numbers.to_vector()); }
    [[nodiscard]] DeviceSpan<int> at(std::size_t index) {
        return require(numbers.span().subspan(index, 1));
    }
    void run(const GraphExec& exec) const {
        require(exec.launch(stream));
        require(stream.sync());
    }
    /// A body that adds a number to the first.
    void fill(GraphBody& body, int n) {
        (void)require(body.add_kernel({}, add, LaunchShape{}, at(0), n));
    }

    const Device& device;
    Kernel<void(NativeGraphCondition, unsigned)> set;
    Kernel<void(NativeGraphCondition, int*, int*)> step;
    Kernel<void(NativeGraphCondition, int*, int)> start;
    Kernel<void(int*, int)> add;
    Stream stream;
    DeviceBuffer<int> numbers;
};

bool has_conditionals(bool several_bodies) {
    return machine()->driver().version() >= (several_bodies ? 12080 : 12030);
}

}  // namespace

/// Ends the test case unless the device runs conditional nodes; else makes `bench`.
#define LODE_NEEDS_CONDITIONALS(several_bodies)                                         \
    LODE_NEEDS_DEVICE(device, 0);                                                       \
    LODE_NEEDS(has_conditionals(several_bodies), "a driver without conditional nodes"); \
    const auto bench_library = load_setters(device);                                    \
    LODE_NEEDS(bench_library.has_value(), "no nvJitLink or no libcudadevrt.a");         \
    Bench bench(device, *bench_library)

TEST_CASE("conditional: a loop runs exactly as often as its kernel says, at every launch") {
    LODE_NEEDS_CONDITIONALS(false);
    Graph graph = require(Graph::create(device));
    const auto goes_on = require(graph.add_condition(1));
    auto loop = require(graph.add_while({}, goes_on));
    REQUIRE(loop.bodies.size() == 1);
    (void)require(loop.bodies[0].add_kernel({}, bench.step, LaunchShape{}, goes_on, bench.at(1),
                                            bench.at(0)));
    (void)require(graph.add_kernel({loop.node}, bench.add, LaunchShape{}, bench.at(0), 100));
    CHECK(require(graph.node_count()) == 2);
    CHECK(require(loop.bodies[0].node_count()) == 1);
    const auto exec = require(graph.instantiate());
    bench.put({0, 7, 0});
    bench.run(exec);
    CHECK(bench.get() == std::vector{107, 0, 0});
    bench.put({0, 1, 0});
    bench.run(exec);
    CHECK(bench.get() == std::vector{101, 0, 0});
}

TEST_CASE("conditional: without a kernel that sets it, the number is the default") {
    LODE_NEEDS_CONDITIONALS(false);
    for (const unsigned at_launch : {0U, 1U}) {
        Graph graph = require(Graph::create(device));
        auto taken = require(graph.add_if({}, require(graph.add_condition(at_launch))));
        bench.fill(taken.bodies[0], 1);
        const auto never = require(graph.add_condition(0));
        auto loop = require(graph.add_while({taken.node}, never));
        bench.fill(loop.bodies[0], 10);
        bench.put({0, 0, 0});
        bench.run(require(graph.instantiate()));
        CHECK(bench.get()[0] == static_cast<int>(at_launch));
    }
}

TEST_CASE("conditional: a kernel decides what the rest of the launch does") {
    LODE_NEEDS_CONDITIONALS(false);
    Graph graph = require(Graph::create(device));
    const auto condition = require(graph.add_condition());
    const auto setter = require(graph.add_kernel({}, bench.set, LaunchShape{}, condition, 1U));
    auto taken = require(graph.add_if({setter}, condition));
    auto& body = taken.bodies[0];
    const auto first = require(body.add_fill({}, bench.at(1), 5));
    const auto second = require(body.add_copy({first}, bench.at(0), bench.at(1)));
    (void)require(body.add_kernel({second}, bench.add, LaunchShape{}, bench.at(0), 1));
    auto exec = require(graph.instantiate());
    bench.run(exec);
    CHECK(bench.get() == std::vector{6, 5, 0});
    bench.put({0, 0, 0});
    require(exec.set_kernel(setter, bench.set, LaunchShape{}, condition, 0U));
    bench.run(exec);
    CHECK(bench.get() == std::vector{0, 0, 0});
}

TEST_CASE("conditional: one of several bodies runs, or none") {
    LODE_NEEDS_CONDITIONALS(true);
    Graph graph = require(Graph::create(device));
    const auto which = require(graph.add_condition());
    const auto other = require(graph.add_condition());
    const auto setter = require(graph.add_kernel({}, bench.set, LaunchShape{}, which, 0U));
    const auto second = require(graph.add_kernel({setter}, bench.set, LaunchShape{}, other, 0U));
    auto chosen = require(graph.add_switch({second}, which, 3));
    auto branch = require(graph.add_if_else({chosen.node}, other));
    REQUIRE(chosen.bodies.size() == 3);
    REQUIRE(branch.bodies.size() == 2);
    for (int i = 0; i < 3; ++i)
        bench.fill(chosen.bodies[static_cast<std::size_t>(i)], i + 1);
    bench.fill(branch.bodies[0], 10);
    bench.fill(branch.bodies[1], 20);
    auto exec = require(graph.instantiate());
    constexpr std::array expected{21, 12, 13, 10};
    for (unsigned number = 0; number < expected.size(); ++number) {
        bench.put({0, 0, 0});
        require(exec.set_kernel(setter, bench.set, LaunchShape{}, which, number));
        require(exec.set_kernel(second, bench.set, LaunchShape{}, other, number));
        bench.run(exec);
        CHECK(bench.get()[0] == expected[number]);
    }
}

TEST_CASE("conditional: loops nest") {
    LODE_NEEDS_CONDITIONALS(false);
    Graph graph = require(Graph::create(device));
    const auto outer = require(graph.add_condition(1));
    const auto inner = require(graph.add_condition(0));
    auto loop = require(graph.add_while({}, outer));
    auto& body = loop.bodies[0];
    const auto started =
        require(body.add_kernel({}, bench.start, LaunchShape{}, inner, bench.at(2), 3));
    auto nested = require(body.add_while({started}, inner));
    (void)require(nested.bodies[0].add_kernel({}, bench.step, LaunchShape{}, inner, bench.at(2),
                                              bench.at(0)));
    (void)require(
        body.add_kernel({nested.node}, bench.step, LaunchShape{}, outer, bench.at(1), bench.at(0)));
    const auto exec = require(graph.instantiate());
    graph = Graph();  // The instantiated graph keeps everything.
    bench.put({0, 4, 0});
    bench.run(exec);
    CHECK(bench.get() == std::vector{4 * (3 + 1), 0, 0});
}

TEST_CASE("conditional: what can't be done is refused with a sentence") {
    LODE_NEEDS_CONDITIONALS(true);
    Graph graph = require(Graph::create(device));
    const auto condition = require(graph.add_condition(0));
    CHECK(require_error(graph.add_switch({}, condition, 0)).code == Errc::invalid_argument);
    auto node = require(graph.add_if({}, condition));
    bench.fill(node.bodies[0], 1);
    Graph other = require(Graph::create(device));
    CHECK_FALSE(other.add_child({}, graph).has_value());
    const auto foreign = other.add_if({}, condition);  // A driver may refuse it here or below.
    CHECK((!foreign || !other.instantiate()));
    CHECK(require_error(Graph().add_condition()).code == Errc::invalid_argument);
    CHECK(require_error(Graph().add_if({}, condition)).code == Errc::invalid_argument);
    (void)require(graph.instantiate());
    (void)require(graph.instantiate());  // The first one is gone.
    // A body keeps its graph.
    graph = Graph();
    CHECK(node.bodies[0]);
    CHECK(require(node.bodies[0].node_count()) == 1);
}

TEST_CASE("conditional: an older driver is named") {
    LODE_NEEDS_DEVICE(present, 0);
    LODE_NEEDS(machine()->driver().is_emulator(), "a driver has one version");
    const auto set_version = raw<void (*)(int)>("lode_emulator_set_driver_version");
    set_version(12040);
    const auto newer = require(Runtime::open());
    set_version(12000);
    const auto older = require(Runtime::open());
    set_version(0);
    {
        Graph graph = require(Graph::create(require(newer.device(0))));
        const auto condition = require(graph.add_condition(0));
        const auto error = require_error(graph.add_if_else({}, condition));
        CHECK(error.code == Errc::driver_too_old);
        CHECK_CONTAINS(error.message, "needs a driver for CUDA 12.8; this one is for 12.4.");
        (void)require(graph.add_if({}, condition));
    }
    Graph graph = require(Graph::create(require(older.device(0))));
    const auto error = require_error(graph.add_condition(0));
    CHECK(error.code == Errc::not_supported);
    CHECK_CONTAINS(error.message, "conditional node needs a driver for CUDA 12.3");
}
