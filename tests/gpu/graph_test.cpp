// Graphs and captures, on a device and on the software device.
#include "tests/gpu/support.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <thread>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

constexpr const char* add_kernel = R"(
extern "C" __global__ void k(int* x, int n) { atomicAdd(x, n); })";

Kernel<void(int*, int)> load_add(const Device& device) {
    auto kernel = load<void(int*, int)>(device, add_kernel);
    require(kernel.preload());  // A capture mustn't be the first to load it.
    return kernel;
}

int first_of(const DeviceBuffer<int>& buffer) {
    return require(buffer.to_vector())[0];
}

}  // namespace

TEST_CASE("graph: kernels, copies, fills and host functions run in order, at every launch") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto add = load_add(device);
    auto x = require(device.alloc<int>(4));
    auto y = require(device.alloc<int>(4));
    const auto stream = require(device.create_stream());
    std::array<int, 4> out{};
    int calls = 0;
    Graph graph = require(Graph::create(device));
    const auto filled = require(graph.add_fill({}, DeviceSpan<int>(x), 5));
    const auto added = require(graph.add_kernel({filled}, add, LaunchShape{}, x, 2));
    const auto copied = require(graph.add_copy({added}, DeviceSpan<int>(y), DeviceSpan<int>(x)));
    const auto read = require(graph.add_copy({copied}, std::span<int>(out), DeviceSpan<int>(y)));
    const auto called = require(graph.add_host_function({read}, [&] { calls += out[0]; }));
    CHECK(called != read);
    CHECK(require(graph.node_count()) == 5);
    CHECK(require(graph.nodes()).front() == filled);
    const GraphExec exec = require(graph.instantiate());
    require(exec.upload(stream));
    require(stream.sync());
    CHECK(calls == 0);
    require(exec.launch(stream));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(out == std::array{7, 5, 5, 5});
    CHECK(calls == 14);
}

TEST_CASE("graph: dependencies added later, empty nodes, children and the DOT file") {
    LODE_NEEDS_DEVICE(device, 0);
    auto x = require(device.alloc<int>(1));
    const auto stream = require(device.create_stream());
    Graph child = require(Graph::create(device));
    (void)require(child.add_kernel({}, load_add(device), LaunchShape{}, x, 3));
    Graph graph = require(Graph::create(device));
    const auto inside = require(graph.add_child({}, child));
    const auto zeroed = require(graph.add_fill({}, DeviceSpan<int>(x), 0));
    require(graph.add_dependency(zeroed, inside));
    (void)require(graph.add_empty({inside, zeroed}));
    child = Graph();  // The parent keeps the child's kernel.
    const auto exec = require(graph.instantiate());
    graph = Graph();  // The instantiated graph keeps it too.
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 3);

    Graph circle = require(Graph::create(device));
    const auto a = require(circle.add_empty({}));
    const auto b = require(circle.add_empty({a}));
    const auto path = std::filesystem::temp_directory_path() / "lode_graph_test.dot";
    require(circle.write_dot(path));
    CHECK(std::filesystem::file_size(path) > 0);
    std::filesystem::remove(path);
    const auto added = circle.add_dependency(b, a);  // A driver may refuse it here or below.
    CHECK((!added || !circle.instantiate()));
}

TEST_CASE("graph: a kernel node's arguments and kernel are changed, and nodes are disabled") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto add = load_add(device);
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    const auto stream = require(device.create_stream());
    Graph graph = require(Graph::create(device));
    const auto node = require(graph.add_kernel({}, add, LaunchShape{}, x, 1));
    GraphExec exec = require(graph.instantiate());
    require(exec.launch(stream));
    require(exec.set_kernel(node, add, LaunchShape{.grid = {2}}, x, 10));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 21);
    require(exec.set_enabled(node, false));
    CHECK_FALSE(require(exec.is_enabled(node)));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 21);
    require(exec.set_enabled(node, true));
    {
        // The instantiated graph keeps the new kernel.
        const auto other = load<void(int*, int)>(
            device, R"(extern "C" __global__ void k(int* x, int n) { *x = -n; })");
        require(exec.set_kernel(node, other, LaunchShape{}, x, 4));
    }
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == -4);
}

TEST_CASE("graph: a whole update takes the parameters of an equal graph only") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto add = load_add(device);
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    const auto stream = require(device.create_stream());
    const auto one_node = [&](int n) {
        Graph graph = require(Graph::create(device));
        (void)require(graph.add_kernel({}, add, LaunchShape{}, x, n));
        return graph;
    };
    GraphExec exec = require(one_node(1).instantiate());
    require(exec.update(one_node(30)));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 30);
    Graph more = one_node(5);
    (void)require(more.add_empty({}));
    const auto error = require_error(exec.update(more));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "An instantiated graph can't be updated: the nodes or their");
}

TEST_CASE(
    "graph: it keeps what it is given, and host functions, exactly as long as it needs them") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    const auto token = std::make_shared<int>(1);
    const auto closure = std::make_shared<int>(2);
    {
        Graph graph = require(Graph::create(device));
        auto own = require(device.alloc<int>(1));
        (void)require(graph.add_fill({}, DeviceSpan<int>(own), 1));
        (void)require(graph.add_host_function({}, [closure] { ++*closure; }));
        graph.keep(std::move(own));
        graph.keep(token);
        const GraphExec exec = require(graph.instantiate());
        graph = Graph();
        CHECK(token.use_count() == 2);
        require(exec.launch(stream));
        require(stream.sync());
        CHECK(*closure == 3);
    }
    CHECK(token.use_count() == 1);
    require(device.sync());
    // The driver destroys the function on a thread of its own.
    for (int tries = 0; closure.use_count() > 1 && tries < 1000; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(closure.use_count() == 1);
}

TEST_CASE("graph: events inside a graph order it with other streams") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    const auto event = require(device.create_event());
    Graph graph = require(Graph::create(device));
    const auto waits = require(graph.add_wait({}, event));
    (void)require(graph.add_record({waits}, event));
    const auto exec = require(graph.instantiate());
    require(event.record(stream));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(require(event.is_done()));
}

TEST_CASE("graph: what can't be a node is refused with a sentence") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto add = load_add(device);
    auto x = require(device.alloc<int>(4));
    Graph graph = require(Graph::create(device));
    CHECK(require_error(graph.add_kernel({}, add, LaunchShape{.block = {100000}}, x, 1)).code ==
          Errc::out_of_resources);
    CHECK(require_error(graph.add_kernel({}, add, LaunchShape{.cooperative = true}, x, 1)).code ==
          Errc::not_supported);
    CHECK(
        require_error(graph.add_kernel({}, Kernel<void(int*, int)>(), LaunchShape{}, x, 1)).code ==
        Errc::invalid_argument);
    CHECK(require_error(graph.add_kernel({}, add, LaunchShape{}, DeviceBuffer<int>(), 1)).code ==
          Errc::invalid_argument);
    std::array<int, 3> too_small{};
    CHECK(require_error(graph.add_copy({}, std::span<int>(too_small), DeviceSpan<int>(x))).code ==
          Errc::invalid_argument);
    CHECK(require_error(graph.add_host_function({}, {})).code == Errc::invalid_argument);
    CHECK(require_error(graph.add_record({}, Event())).code == Errc::invalid_argument);
    CHECK(require_error(graph.add_child({}, Graph())).code == Errc::invalid_argument);
    CHECK(require(graph.node_count()) == 0);
    const auto stream = require(device.create_stream());
    CHECK(require_error(Graph().add_empty({})).code == Errc::invalid_argument);
    CHECK(require_error(Graph().instantiate()).code == Errc::invalid_argument);
    CHECK(require_error(GraphExec().launch(stream)).code == Errc::invalid_argument);
    const auto exec = require(graph.instantiate());
    CHECK(require_error(exec.launch(Stream())).code == Errc::invalid_argument);
}

TEST_CASE("capture: work on a stream, with a fork, becomes a graph") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto add = load_add(device);
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    const auto stream = require(device.create_stream());
    const auto side = require(device.create_stream());
    const auto forked = require(device.create_event());
    const auto joined = require(device.create_event());
    auto capture = require(Capture::begin(stream));
    CHECK(require(stream.ref().is_capturing()));
    require(add.launch(stream, LaunchShape{}, x, 1));
    require(forked.record(stream));
    require(side.ref().wait(forked));
    require(add.launch(side, LaunchShape{}, x, 10));
    require(joined.record(side));
    require(stream.ref().wait(joined));
    const auto inside = require(device.alloc<int>(100));  // Allocating is allowed meanwhile.
    Graph graph = require(capture.finish());
    CHECK(require_error(capture.finish()).code == Errc::invalid_argument);
    CHECK(require(graph.node_count()) == 2);
    CHECK(first_of(x) == 0);
    const auto exec = require(graph.instantiate());
    require(exec.launch(stream));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 22);

    // The driver doesn't record the launch of a graph.
    auto outer = require(Capture::begin(stream, CaptureMode::relaxed));
    CHECK(require_error(exec.launch(stream)).code == Errc::capture_active);
    CHECK(require_error(outer.finish()).code == Errc::capture_active);
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 33);
}

TEST_CASE("capture: unjoined work, waiting and a second capture are errors with a reason") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto add = load_add(device);
    auto x = require(device.alloc<int>(1));
    const auto stream = require(device.create_stream());
    const auto side = require(device.create_stream());
    const auto forked = require(device.create_event());
    {
        auto capture = require(Capture::begin(stream, CaptureMode::every_thread));
        CHECK(require_error(Capture::begin(stream)).code == Errc::capture_active);
        require(forked.record(stream));
        require(side.ref().wait(forked));
        require(add.launch(side, LaunchShape{}, x, 1));
        const auto error = require_error(capture.finish());
        CHECK(error.code == Errc::capture_active);
        CHECK_CONTAINS(error.message, "wasn't joined");
    }
    {
        auto capture = require(Capture::begin(stream));
        CHECK(require_error(stream.sync()).code == Errc::capture_active);
        CHECK(require_error(capture.finish()).code == Errc::capture_active);
    }
    {
        // Destroyed unfinished: the stream works again.
        const auto capture = require(Capture::begin(stream));
        require(add.launch(stream, LaunchShape{}, x, 1));
    }
    CHECK_FALSE(require(stream.ref().is_capturing()));
    require(stream.sync());
    CHECK(require_error(Capture::begin(device.default_stream())).code == Errc::invalid_argument);
    CHECK(require_error(Capture::begin(Stream())).code == Errc::invalid_argument);
}

TEST_CASE("capture: the graph keeps the kernels, also those of its child graphs") {
    LODE_NEEDS_DEVICE(device, 0);
    auto x = require(device.alloc<int>(1));
    require(x.zero());
    const auto stream = require(device.create_stream());
    const auto capture_add = [&](int n) {
        auto add = load_add(device);
        auto capture = require(Capture::begin(stream));
        require(add.launch(stream, LaunchShape{}, x, n));
        add = {};  // A helper that loads, launches and returns.
        return require(capture.finish());
    };
    Graph graph = capture_add(1);
    GraphExec exec = require(graph.instantiate());
    Graph parent = require(Graph::create(device));
    (void)require(parent.add_child({}, graph));
    graph = Graph();
    require(exec.launch(stream));
    require(exec.update(capture_add(10)));
    require(exec.launch(stream));
    const auto both = require(parent.instantiate());
    exec = GraphExec();
    parent = Graph();
    require(both.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 1 + 10 + 1);
}

TEST_CASE("graph memory: a launch allocates, uses and frees it") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().memory_pools, "a device without memory pools");
    const auto add = load_add(device);
    const auto stream = require(device.create_stream());
    std::array<int, 100> out{};
    Graph graph = require(Graph::create(device));
    const auto made = require(graph.add_alloc<int>({}, out.size()));
    CHECK(made.memory.size() == out.size());
    const auto filled = require(graph.add_fill({made.node}, made.memory, 5));
    const auto added = require(graph.add_kernel({filled}, add, LaunchShape{}, made.memory, 2));
    const auto read = require(graph.add_copy({added}, std::span<int>(out), made.memory));
    const auto error = require_error(graph.instantiate());
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "but none of its nodes frees it.");
    (void)require(graph.add_free({read}, made.memory));
    CHECK(require_error(graph.add_free({read}, made.memory)).code == Errc::invalid_argument);
    auto other = require(device.alloc<int>(1));
    CHECK(require_error(graph.add_free({read}, other.span())).code == Errc::invalid_argument);
    const auto nothing = require(graph.add_alloc<int>({}, 0));
    (void)require(graph.add_free({nothing.node}, nothing.memory));
    CHECK(require_error(Graph().add_alloc<int>({}, 1)).code == Errc::invalid_argument);
    Graph parent = require(Graph::create(device));
    CHECK_FALSE(parent.add_child({}, graph).has_value());
    const auto exec = require(graph.instantiate());
    for (int i = 0; i < 3; ++i) {
        out = {};
        require(exec.launch(stream));
        require(stream.sync());
        CHECK(out[0] == 7);
        CHECK(out.back() == 5);
    }
}

TEST_CASE("capture: a buffer of the capture lives inside the graph's launches") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().memory_pools, "a device without memory pools");
    const auto add = load_add(device);
    const auto stream = require(device.create_stream());
    auto x = require(device.alloc<int>(1));
    auto before = require(AsyncBuffer<int>::allocate(device, stream, 10));
    auto capture = require(Capture::begin(stream));
    {
        auto inside = require(AsyncBuffer<int>::allocate(device, stream, 1));
        require(inside.span().fill_async(stream, 3));
        require(add.launch(stream, LaunchShape{}, inside.span(), 4));
        require(x.copy_from_async(stream, inside.span()));
    }
    before = {};  // Freed outside of the capture, which goes on.
    const Graph graph = require(capture.finish());
    CHECK(require(graph.node_count()) == 5);
    const auto exec = require(graph.instantiate());
    require(exec.launch(stream));
    require(exec.launch(stream));
    require(stream.sync());
    CHECK(first_of(x) == 7);
}

TEST_CASE("capture: a buffer of the capture that outlives it makes finish() fail") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().memory_pools, "a device without memory pools");
    const auto stream = require(device.create_stream());
    auto capture = require(Capture::begin(stream));
    const auto inside = require(AsyncBuffer<int>::allocate(device, stream, 1));
    const auto error = require_error(capture.finish());
    CHECK(error.code == Errc::capture_active);
    CHECK_CONTAINS(error.message, "allocated in the capture (1) still exist");
    require(stream.sync());
}
