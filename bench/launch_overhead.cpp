// Measures the nanoseconds that lode adds to the driver's launch call.
//
// First with a driver that does nothing, which leaves only lode's own work; then, if there is a
// device, as a ratio to the raw calls. Each figure is the median over rounds that alternate between
// the candidates, so that clock changes and other load affect all of them alike.
//
//     lode_bench_launch_overhead [--json FILE]
#include "bench/launch_overhead.hpp"

#include "bench/launch_overhead_noop.hpp"

#include <lode/kernels.hpp>

#include <exception>
#include <filesystem>

#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr std::size_t rounds = 201;
constexpr std::size_t launches = 20000;  // A millisecond at most: rarely interrupted.
constexpr unsigned blocks = 4;
constexpr unsigned threads = 128;

struct Row {
    std::vector<double> raw;
    std::vector<double> typed;
    std::vector<double> kept_shape;
    std::vector<double> packed;
    std::vector<double> kept;
    std::vector<double> prepared;
    std::vector<double> attributes_raw;
    std::vector<double> attributes;
};

void check(bool fine) {
    if (!fine) throw std::runtime_error("a no-op launch fails");
}

CUresult launch_ex_by_hand(PFN_cuLaunchKernelEx_v11060 launch, CUfunction kernel, CUstream stream,
                           void** arguments) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = -1;
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = threads;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return launch(&config, kernel, arguments, nullptr);
}

/// What each round adds to the same round's raw calls.
std::vector<double> differences(const std::vector<double>& times, const std::vector<double>& raw) {
    std::vector<double> result;
    for (std::size_t i = 0; i < times.size(); ++i)
        result.push_back(times[i] - raw[i]);
    return result;
}

template <std::size_t N>
void measure(Results& results, const Device& device, const Stream& stream) {
    const auto library = unwrap(device.load(noop_image(N)));
    const IntKernel<N> kernel(unwrap(IntKernel<N>::from_untyped(unwrap(library.kernel("k")))));
    std::array<int, N> values{};
    const PackedArguments packed = pack(values);
    KeptArguments<N> kept(values);
    const LaunchShape shape{.grid = {blocks}, .block = {threads}};
    const LaunchShape with_priority{.grid = {blocks}, .block = {threads}, .priority = -1};
    const auto prepared = prepare<N>(kernel, stream, values, shape);
    const auto launch = noop_launch();
    const auto launch_ex = noop_launch_ex();
    const auto native = reinterpret_cast<CUfunction>(kernel.untyped().native());

    Row row;
    for (std::size_t round = 0; round < rounds; ++round) {
        row.raw.push_back(time_each(launches, [&] {
            keep_in_place();
            check(launch_by_hand<N>(launch, native, stream.native(), values, blocks, threads) ==
                  CUDA_SUCCESS);
        }));
        row.typed.push_back(time_each(launches, [&] {
            keep_in_place();
            check(launch_typed<N>(kernel, stream, values, {.grid = {blocks}, .block = {threads}})
                      .has_value());
        }));
        row.kept_shape.push_back(time_each(launches, [&] {
            keep_in_place();
            check(launch_typed<N>(kernel, stream, values, shape).has_value());
        }));
        row.packed.push_back(time_each(launches, [&] {
            keep_in_place();
            check(kernel.untyped().launch(stream, shape, packed).has_value());
        }));
        row.kept.push_back(time_each(launches, [&] {
            keep_in_place();
            check(launch(native, blocks, 1, 1, threads, 1, 1, 0, stream.native(),
                         kept.pointers.data(), nullptr) == CUDA_SUCCESS);
        }));
        row.prepared.push_back(time_each(launches, [&] {
            keep_in_place();
            check(prepared.launch().has_value());
        }));
        row.attributes_raw.push_back(time_each(launches, [&] {
            keep_in_place();
            void* arguments[N + 1] = {};
            for (std::size_t i = 0; i < N; ++i)
                arguments[i] = &values[i];
            check(launch_ex_by_hand(launch_ex, native, stream.native(), arguments) == CUDA_SUCCESS);
        }));
        row.attributes.push_back(time_each(launches, [&] {
            keep_in_place();
            check(launch_typed<N>(kernel, stream, values, with_priority).has_value());
        }));
    }
    const auto add = [&](const char* series, const std::vector<double>& times) {
        results.add(measured({.group = "launch into a no-op driver",
                              .series = series,
                              .unit = "ns",
                              .x = static_cast<double>(N),
                              .x_name = "arguments"},
                             times));
    };
    add("raw call", row.raw);
    add("typed adds", differences(row.typed, row.raw));
    add("typed, shape from a variable, adds", differences(row.kept_shape, row.raw));
    add("packed adds", differences(row.packed, row.raw));
    add("prepared adds", differences(row.prepared, row.kept));
    add("attributes add to raw Ex", differences(row.attributes, row.attributes_raw));
    const double raw = median(row.raw);
    const double raw_ex = median(row.attributes_raw);
    const double kept_raw = median(row.kept);
    fmt::print(
        "{:>4}  {:>5.2f}  {:>6.2f}  {:>10.2f}  {:>6.2f}  {:>8.2f}  {:>8.2f}  {:>6.2f}  {:>10.2f}\n",
        N, raw, median(row.typed) - raw, median(row.kept_shape) - raw, median(row.packed) - raw,
        kept_raw, median(row.prepared) - kept_raw, raw_ex, median(row.attributes) - raw_ex);
}

/// Measures the check that each buffer is on the kernel's device: the same launch with the buffers
/// and with their addresses.
void measure_buffers(Results& results, const Device& device, const Stream& stream) {
    const auto library = unwrap(device.load(noop_image(4, ".u64")));
    const auto kernel = unwrap(library.kernel<void(int*, int*, int*, int*)>("k"));
    const auto a = unwrap(device.alloc<int>(1));
    const auto b = unwrap(device.alloc<int>(1));
    const auto c = unwrap(device.alloc<int>(1));
    const auto d = unwrap(device.alloc<int>(1));
    const LaunchShape shape{.grid = {blocks}, .block = {threads}};
    std::vector<double> by_address;
    std::vector<double> by_buffer;
    for (std::size_t round = 0; round < rounds; ++round) {
        by_address.push_back(time_each(launches, [&] {
            keep_in_place();
            check(kernel.launch(stream, shape, a.data(), b.data(), c.data(), d.data()).has_value());
        }));
        by_buffer.push_back(time_each(launches, [&] {
            keep_in_place();
            check(kernel.launch(stream, shape, a, b, c, d).has_value());
        }));
    }
    results.add(measured({.group = "buffers among the arguments of a launch",
                          .series = "4 buffers add to their addresses",
                          .unit = "ns"},
                         differences(by_buffer, by_address)));
    fmt::print(
        "\n4 buffers: {:.2f} by their addresses, {:.2f} more as buffers (fastest rounds: "
        "{:.2f} more)\n",
        median(by_address), median(by_buffer) - median(by_address),
        *std::ranges::min_element(by_buffer) - *std::ranges::min_element(by_address));
}

/// Measures what an operation of lode::kernels adds to a prepared launch with as many arguments.
void measure_operation(Results& results, const Runtime& runtime, const Device& device,
                       const Stream& stream) {
    const VariantLoader loader(runtime, device, {}, TunedChoices(std::filesystem::path()));
    const auto scan = kernels::Scan<int>::load(loader);
    if (!scan) {
        fmt::print("\nNo operation can be measured: {}\n", scan.error().message);
        return;
    }
    constexpr std::size_t count = 1000;
    auto both = unwrap(device.alloc<int>(2 * count));
    const auto from = unwrap(both.span().first(count));
    const auto to = unwrap(both.span().last(count));
    auto memory = unwrap(device.alloc<std::byte>(unwrap(scan->workspace_bytes(count))));
    kernels::Workspace workspace(memory);
    const auto kernel = unwrap(unwrap(device.load(noop_image(4, ".u64")))
                                   .kernel<void(const int*, int*, std::byte*, std::uint64_t)>("k"));
    const LaunchShape shape{.grid = {blocks}, .block = {threads}};
    const auto prepared = unwrap(kernel.prepare(stream, shape, from, to, memory, count));
    std::vector<double> by_kernel;
    std::vector<double> by_operation;
    for (std::size_t round = 0; round < rounds; ++round) {
        by_kernel.push_back(time_each(launches, [&] {
            keep_in_place();
            check(prepared.launch().has_value());
        }));
        by_operation.push_back(time_each(launches, [&] {
            keep_in_place();
            check(scan->run(stream, from, to, workspace).has_value());
        }));
    }
    results.add(measured({.group = "an operation of lode::kernels",
                          .series = "a scan with a workspace adds to a prepared launch",
                          .unit = "ns"},
                         differences(by_operation, by_kernel)));
    fmt::print("\nScan: {:.2f} by a prepared launch of its arguments, {:.2f} more by run()\n",
               median(by_kernel), median(by_operation) - median(by_kernel));
}

}  // namespace

void report_noop(Results& results) {
    const auto runtime = unwrap(Runtime::with_driver(noop_driver()));
    const auto device = unwrap(runtime.device());
    const auto stream = unwrap(device.create_stream());
    fmt::print(
        "Nanoseconds per launch into a driver that does nothing, medians of {} rounds of {} "
        "launches: the raw\ncall, and what lode adds to it. raw and typed have the shape at the "
        "call, raw kept and prepared have\ntheir arguments' addresses from before, raw Ex and "
        "attributes have a priority\n\n",
        rounds, launches);
    fmt::print("{:>4}  {:>5}  {:>6}  {:>10}  {:>6}  {:>8}  {:>8}  {:>6}  {:>10}\n", "args", "raw",
               "typed", "kept shape", "packed", "raw kept", "prepared", "raw Ex", "attributes");
    measure<0>(results, device, stream);
    measure<1>(results, device, stream);
    measure<4>(results, device, stream);
    measure<8>(results, device, stream);
    measure<16>(results, device, stream);
    measure_buffers(results, device, stream);
    measure_operation(results, runtime, device, stream);
}

}  // namespace lode::bench

int main(int count, char** arguments) {
    try {
        lode::bench::Results results("launch_overhead", count, arguments);
        lode::bench::report_noop(results);
        lode::bench::report_device(results);
        results.write();
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
    return 0;
}
