// The half of launch_overhead that needs a device.
#include "bench/launch_overhead.hpp"

#include <stdexcept>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr std::size_t device_rounds = 60;
constexpr std::size_t device_launches = 400;  // Fewer than the driver queues before it blocks.
constexpr std::size_t graph_launches = 50;    // The same for graphs.

/// The raw entry points of the driver that lode opened.
struct RawDriver {
    explicit RawDriver(const Driver& driver) {
        void* const library = ::dlopen(driver.origin().c_str(), RTLD_NOW | RTLD_LOCAL);
        const auto find = [&](const char* name) {
            void* const symbol = library != nullptr ? ::dlsym(library, name) : nullptr;
            if (symbol == nullptr) throw std::runtime_error(fmt::format("no {}", name));
            return symbol;
        };
        launch = reinterpret_cast<PFN_cuLaunchKernel_v4000>(find("cuLaunchKernel"));
        launch_ex = reinterpret_cast<PFN_cuLaunchKernelEx_v11060>(find("cuLaunchKernelEx"));
        launch_graph = reinterpret_cast<PFN_cuGraphLaunch_v10000>(find("cuGraphLaunch"));
        get_function =
            reinterpret_cast<PFN_cuKernelGetFunction_v12000>(find("cuKernelGetFunction"));
    }
    PFN_cuLaunchKernel_v4000 launch;
    PFN_cuLaunchKernelEx_v11060 launch_ex;
    PFN_cuGraphLaunch_v10000 launch_graph;
    PFN_cuKernelGetFunction_v12000 get_function;
};

std::string source_of(std::size_t arguments) {
    std::string parameters;
    for (std::size_t i = 0; i < arguments; ++i)
        parameters += fmt::format("{}int p{}", i == 0 ? "" : ", ", i);
    return fmt::format("extern \"C\" __global__ void k({}) {{}}", parameters);
}

void check(CUresult result) {
    if (result != CUDA_SUCCESS)
        throw std::runtime_error(fmt::format("a raw launch fails: {}", static_cast<int>(result)));
}

template <std::size_t N>
void measure(Results& results, const RawDriver& raw, const Device& device, const Stream& stream) {
    const auto untyped = unwrap(device.load(Source::text(source_of(N), "empty.cu"), "k"));
    const IntKernel<N> kernel(unwrap(IntKernel<N>::from_untyped(untyped)));
    unwrap(untyped.preload());
    const auto context = unwrap(ContextScope::enter(device));  // As in a raw program.
    const auto native = reinterpret_cast<CUfunction>(untyped.native());
    CUfunction function = nullptr;
    check(raw.get_function(&function, untyped.native()));
    std::array<int, N> values{};
    const PackedArguments packed = pack(values);
    const LaunchShape shape;
    const auto prepared = prepare<N>(kernel, stream, values, shape);
    const LaunchShape with_priority{.priority = 0};

    const auto raw_ex = [&] {
        void* arguments[N + 1] = {};
        for (std::size_t i = 0; i < N; ++i)
            arguments[i] = &values[i];
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        CUlaunchConfig config{};
        config.gridDimX = config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = config.blockDimY = config.blockDimZ = 1;
        config.hStream = stream.native();
        config.attrs = &attribute;
        config.numAttrs = 1;
        check(raw.launch_ex(&config, native, arguments, nullptr));
    };
    std::vector<double> by_function, by_kernel, typed, by_packed, by_prepared, by_ex, attributes;
    const auto round = [&](std::vector<double>& times, auto&& call) {
        times.push_back(time_each(device_launches, call));
        unwrap(stream.sync());
    };
    for (std::size_t i = 0; i < device_rounds; ++i) {
        round(by_function, [&] {
            check(launch_by_hand<N>(raw.launch, function, stream.native(), values, 1, 1));
        });
        round(by_kernel,
              [&] { check(launch_by_hand<N>(raw.launch, native, stream.native(), values, 1, 1)); });
        round(typed, [&] { unwrap(launch_typed<N>(kernel, stream, values, shape)); });
        round(by_packed, [&] { unwrap(untyped.launch(stream, shape, packed)); });
        round(by_prepared, [&] { unwrap(prepared.launch()); });
        round(by_ex, raw_ex);
        round(attributes, [&] { unwrap(launch_typed<N>(kernel, stream, values, with_priority)); });
    }
    const auto add = [&](const char* series, const std::vector<double>& times) {
        results.add(measured({.group = "launch of an empty kernel",
                              .series = series,
                              .unit = "ns",
                              .x = static_cast<double>(N),
                              .x_name = "arguments"},
                             times));
    };
    add("raw, CUfunction", by_function);
    add("raw, CUkernel", by_kernel);
    add("lode, typed", typed);
    add("lode, packed", by_packed);
    add("lode, prepared", by_prepared);
    add("raw, cuLaunchKernelEx", by_ex);
    add("lode, with attributes", attributes);
    fmt::print(
        "{:>9}  {:>14.1f}  {:>12.1f}  {:>11.3f}  {:>12.3f}  {:>14.3f}  {:>10.1f}  {:>16.3f}\n", N,
        median(by_function), median(by_kernel), median(typed) / median(by_kernel),
        median(by_packed) / median(by_kernel), median(by_prepared) / median(by_kernel),
        median(by_ex), median(attributes) / median(by_ex));
}

/// Prints the time of one launch of a graph of `nodes` empty kernels, in a row, and the ratio of
/// lode's launch to the raw one.
void measure_graph(Results& results, const RawDriver& raw, const Device& device,
                   const Stream& stream, std::size_t nodes) {
    const auto kernel = unwrap(device.load<void()>(Source::text(source_of(0), "empty.cu"), "k"));
    auto capture = unwrap(Capture::begin(stream));
    for (std::size_t i = 0; i < nodes; ++i)
        unwrap(kernel.launch(stream, LaunchShape{}));
    const Graph graph = unwrap(capture.finish());
    const GraphExec exec = unwrap(graph.instantiate());
    unwrap(exec.upload(stream));
    const auto context = unwrap(ContextScope::enter(device));  // As in a raw program.
    std::vector<double> by_hand, by_lode;
    for (std::size_t i = 0; i < device_rounds; ++i) {
        by_hand.push_back(time_each(
            graph_launches, [&] { check(raw.launch_graph(exec.native(), stream.native())); }));
        unwrap(stream.sync());
        by_lode.push_back(time_each(graph_launches, [&] { unwrap(exec.launch(stream)); }));
        unwrap(stream.sync());
    }
    const auto add = [&](const char* series, const std::vector<double>& times) {
        results.add(measured({.group = "launch of a graph of empty kernels",
                              .series = series,
                              .unit = "ns",
                              .x = static_cast<double>(nodes),
                              .x_name = "kernels"},
                             times));
    };
    add("raw cuGraphLaunch", by_hand);
    add("lode", by_lode);
    fmt::print("{:>9}  {:>14.1f}  {:>11.3f}\n", nodes, median(by_hand),
               median(by_lode) / median(by_hand));
}

}  // namespace

void report_device(Results& results) {
    const auto runtime = Runtime::open();
    if (!runtime) {
        fmt::print("\nNo device can be measured: {}\n", runtime.error().message);
        return;
    }
    const auto device = runtime->device();
    if (!device) {
        fmt::print("\nNo device can be measured: {}\n", device.error().message);
        return;
    }
    results.set("device", device->name());
    results.set("driver", runtime->driver().version_text());
    if (runtime->driver().is_emulator()) results.set("software_device", "yes");
    const RawDriver raw(runtime->driver());
    const auto stream = unwrap(device->create_stream());
    fmt::print(
        "\nNanoseconds per launch of an empty kernel on {} (driver for CUDA {}), medians of "
        "{} rounds of {} launches;\nratios are to the raw call with a CUkernel, and to the "
        "raw cuLaunchKernelEx\n\n",
        device->name(), runtime->driver().version_text(), device_rounds, device_launches);
    fmt::print("{:>9}  {:>14}  {:>12}  {:>11}  {:>12}  {:>14}  {:>10}  {:>16}\n", "arguments",
               "raw CUfunction", "raw CUkernel", "typed ratio", "packed ratio", "prepared ratio",
               "raw Ex", "attributes ratio");
    measure<0>(results, raw, *device, stream);
    measure<1>(results, raw, *device, stream);
    measure<4>(results, raw, *device, stream);
    measure<8>(results, raw, *device, stream);
    measure<16>(results, raw, *device, stream);
    fmt::print(
        "\nNanoseconds per launch of a graph of empty kernels in a row, medians of {} rounds "
        "of {} launches;\nthe ratio is to the raw call\n\n{:>9}  {:>14}  {:>11}\n",
        device_rounds, graph_launches, "kernels", "raw call", "lode ratio");
    for (const std::size_t nodes : {1, 10, 100})
        measure_graph(results, raw, *device, stream, nodes);
}

}  // namespace lode::bench
