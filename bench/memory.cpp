// Compares ways to allocate, copy and read memory on the first device: memory allocated anew, from
// a pool or kept; constant memory read at one address of a warp or at many; page-locked and
// pageable host memory; managed memory with page faults and with a prefetch.
//
//     lode_bench_memory [--json FILE]
//
// Each figure is the median over rounds that alternate between the candidates, and each ratio is
// one within this run. On the software device the sizes are smaller and the ratios say nothing
// about a GPU.
#include "bench/results.hpp"
#include "bench/timing.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace lode;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr unsigned threads = 256;

constexpr const char* kernels = R"(
__constant__ float table[4096];

extern "C" __global__ void fill_table_copy(float* copy) {
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) copy[i] = table[i];
}

extern "C" __global__ void store(float* x) { x[threadIdx.x] = 1; }

extern "C" __global__ void touch(float* x, unsigned long long n) {
    const unsigned long long step = 1ull * gridDim.x * blockDim.x;
    for (unsigned long long i = 1ull * blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        x[i] += 1.0f;
}

// With lane_step 0 the threads of a warp read one address, with 1 they read 32.
extern "C" __global__ void read_constant(float* out, int rounds, int lane_step) {
    int at = (threadIdx.x & 31) * lane_step;
    float sum = 0;
    for (int round = 0; round < rounds; ++round) {
        sum += table[at];
        at = (at + 33) & 4095;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void read_global(float* out, int rounds, int lane_step,
                                       const float* __restrict__ values) {
    int at = (threadIdx.x & 31) * lane_step;
    float sum = 0;
    for (int round = 0; round < rounds; ++round) {
        sum += __ldg(&values[at]);
        at = (at + 33) & 4095;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
})";

/// How much is measured.
struct Scale {
    std::size_t rounds;
    int steps;                           ///< Allocations in one round.
    std::vector<std::size_t> allocated;  ///< Bytes.
    std::size_t copied;                  ///< Bytes.
    std::vector<std::size_t> managed;    ///< Bytes.
    int constant_rounds;                 ///< Reads of each thread.
};

Scale scale_for(const Driver& driver) {
    if (driver.is_emulator()) return {5, 20, {64 * kib, mib}, 4 * mib, {mib}, 256};
    return {21, 200, {64 * kib, mib, 64 * mib}, 256 * mib, {4 * mib, 256 * mib}, 16384};
}

struct Machine {
    Device device;
    Stream stream;
    Library library;
    Kernel<void(float*, std::uint64_t)> touch;
    bench::Results& results;
};

double microseconds(const std::function<void()>& work) {
    return bench::time_each(1, work) * 1e-3;
}

/// One way of doing the same.
struct Candidate {
    std::string_view name;
    std::function<void()> prepare;  ///< Not measured; may be empty.
    std::function<void()> work;
};

/// The microseconds of each candidate, which take turns. The first round isn't counted.
std::vector<std::vector<double>> compare(std::span<const Candidate> candidates,
                                         std::size_t rounds) {
    std::vector<std::vector<double>> times(candidates.size());
    for (std::size_t round = 0; round <= rounds; ++round) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (candidates[i].prepare) candidates[i].prepare();
            const double time = microseconds(candidates[i].work);
            if (round > 0) times[i].push_back(time);
        }
    }
    return times;
}

/// Compares candidates and prints a row for each; the ratio is to the first. With `bytes` the time
/// becomes a rate too. Times are divided by `per`.
void report(const Machine& machine, const std::string& what, std::span<const Candidate> candidates,
            std::size_t rounds, double per, std::size_t bytes = 0) {
    auto times = compare(candidates, rounds);
    fmt::print("\n{}\n", what);
    double first = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        for (double& time : times[i])
            time /= per;
        const auto figure = bench::measured({.group = what.substr(0, what.find(':')),
                                             .series = std::string(candidates[i].name),
                                             .unit = "us"},
                                            times[i]);
        machine.results.add(figure);
        if (i == 0) first = figure.value;
        fmt::print("  {:<44} {:>12.2f} us  {:>8.3f}", candidates[i].name, figure.value,
                   figure.value / first);
        if (bytes > 0)
            fmt::print("  {:>8.2f} GB/s", static_cast<double>(bytes) / figure.value / per / 1000);
        fmt::print("\n");
    }
}

std::string size_text(std::size_t bytes) {
    return bytes >= mib ? fmt::format("{} MiB", bytes / mib) : fmt::format("{} KiB", bytes / kib);
}

LaunchShape shape_for(const Device& device) {
    return {.grid = {static_cast<std::uint32_t>(device.properties().multiprocessors * 4)},
            .block = {threads}};
}

/// A buffer for each step that a kernel uses: always the same, from a pool, or allocated and freed.
/// Freeing device memory while a kernel uses it isn't allowed, so the last way waits at each step;
/// the second last waits too, to tell both costs apart.
void measure_allocation(const Machine& machine, const Scale& scale) {
    const auto& device = machine.device;
    const auto& stream = machine.stream;
    const auto store = unwrap(machine.library.kernel<void(float*)>("store"));
    const LaunchShape shape{.grid = {1}, .block = {threads}};
    for (const std::size_t bytes : scale.allocated) {
        const std::size_t count = bytes / sizeof(float);
        const auto in_steps = [&](const std::function<void()>& step) {
            return [&, step] {
                for (int i = 0; i < scale.steps; ++i)
                    step();
                unwrap(stream.sync());
            };
        };
        const auto kept = unwrap(device.alloc<float>(count));
        std::vector<Candidate> candidates{{"one buffer, kept", {}, in_steps([&] {
                                               unwrap(store.launch(stream, shape, kept.data()));
                                           })}};
        MemoryPool pool;
        if (device.properties().memory_pools) {
            // The pool keeps what is freed, as a program's pool does.
            pool = unwrap(MemoryPool::create(
                device, {.release_threshold_bytes = std::uint64_t{4} * 1024 * mib}));
            candidates.push_back({"from a pool, freed on the stream", {}, in_steps([&] {
                                      const auto buffer =
                                          unwrap(pool.allocate<float>(stream, count));
                                      unwrap(store.launch(stream, shape, buffer.data()));
                                  })});
        }
        candidates.push_back({"one buffer, kept; waiting at each step", {}, in_steps([&] {
                                  unwrap(store.launch(stream, shape, kept.data()));
                                  unwrap(stream.sync());
                              })});
        candidates.push_back({"allocated and freed; waiting at each step", {}, in_steps([&] {
                                  const auto buffer = unwrap(device.alloc<float>(count));
                                  unwrap(store.launch(stream, shape, buffer.data()));
                                  unwrap(stream.sync());
                              })});
        report(machine,
               fmt::format("Memory of {} for each small launch: time of a step, ratio to the first",
                           size_text(bytes)),
               candidates, scale.rounds, scale.steps);
    }
}

/// Reads by a full device: at one address of each warp, or at 32.
void measure_constant(const Machine& machine, const Scale& scale) {
    const auto& device = machine.device;
    const auto& stream = machine.stream;
    const auto& library = machine.library;
    const auto fill_copy = unwrap(library.kernel<void(float*)>("fill_table_copy"));
    const auto constant = unwrap(library.kernel<void(float*, int, int)>("read_constant"));
    const auto global = unwrap(library.kernel<void(float*, int, int, const float*)>("read_global"));
    std::vector<float> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 16);
    unwrap(unwrap(library.global<float>("table", values.size())).copy_from(values));
    auto copy = unwrap(device.alloc<float>(values.size()));
    unwrap(fill_copy.launch(stream, {.block = {threads}}, copy));
    const LaunchShape shape = shape_for(device);
    auto out = unwrap(device.alloc<float>(std::size_t{shape.grid.x} * threads));
    const auto by_constant = [&](int lane_step) {
        return [&, lane_step] {
            unwrap(constant.launch(stream, shape, out, scale.constant_rounds, lane_step));
            unwrap(stream.sync());
        };
    };
    const auto by_global = [&](int lane_step) {
        return [&, lane_step] {
            unwrap(global.launch(stream, shape, out, scale.constant_rounds, lane_step, copy));
            unwrap(stream.sync());
        };
    };
    const std::array<Candidate, 4> candidates{
        {{"constant memory, one address of a warp", {}, by_constant(0)},
         {"constant memory, 32 addresses", {}, by_constant(1)},
         {"global memory, one address of a warp", {}, by_global(0)},
         {"global memory, 32 addresses", {}, by_global(1)}}};
    report(machine,
           fmt::format("{} reads of each of {} threads: time of a launch, ratio to the first",
                       scale.constant_rounds, std::size_t{shape.grid.x} * threads),
           candidates, scale.rounds, 1);
}

void measure_host(const Machine& machine, const Scale& scale) {
    const auto& device = machine.device;
    const std::size_t count = scale.copied / sizeof(float);
    auto buffer = unwrap(device.alloc<float>(count));
    const auto pinned = unwrap(device.alloc_pinned<float>(count));
    std::ranges::fill(pinned.span(), 1.0F);
    std::vector<float> pageable(count, 2.0F);
    const DeviceSpan<float> memory = buffer;
    const std::array<Candidate, 2> there{
        {{"from page-locked memory", {}, [&] { unwrap(memory.copy_from(pinned.span())); }},
         {"from pageable memory", {}, [&] { unwrap(memory.copy_from(pageable)); }}}};
    const std::array<Candidate, 2> back{
        {{"to page-locked memory", {}, [&] { unwrap(memory.copy_to(pinned.span())); }},
         {"to pageable memory", {}, [&] { unwrap(memory.copy_to(std::span(pageable))); }}}};
    const std::string size = size_text(scale.copied);
    report(machine, fmt::format("A copy of {} to the device: time, ratio to the first, rate", size),
           there, scale.rounds, 1, scale.copied);
    report(machine,
           fmt::format("A copy of {} from the device: time, ratio to the first, rate", size), back,
           scale.rounds, 1, scale.copied);
}

/// A kernel that uses what the host has just written.
void measure_managed(const Machine& machine, const Scale& scale) {
    const auto& device = machine.device;
    const auto& stream = machine.stream;
    const auto& touch = machine.touch;
    if (!device.properties().managed_memory || !unwrap(has_concurrent_managed_access(device))) {
        fmt::print("\nManaged memory isn't measured: {} has no concurrent managed access.\n",
                   device.name());
        return;
    }
    const LaunchShape shape = shape_for(device);
    for (const std::size_t bytes : scale.managed) {
        const std::size_t count = bytes / sizeof(float);
        auto managed = unwrap(ManagedBuffer<float>::allocate(device, count));
        auto buffer = unwrap(device.alloc<float>(count));
        const auto pinned = unwrap(device.alloc_pinned<float>(count));
        const auto write_managed = [&] { std::ranges::fill(managed.host(), 1.0F); };
        const auto write_pinned = [&] { std::ranges::fill(pinned.span(), 1.0F); };
        const auto launch = [&](DeviceSpan<float> memory) {
            unwrap(touch.launch(stream, shape, memory, std::uint64_t{count}));
            unwrap(stream.sync());
        };
        const std::array<Candidate, 4> candidates{
            {{"managed, a prefetch and the kernel", write_managed,
              [&] {
                  unwrap(managed.prefetch_async(stream));
                  launch(managed.span());
              }},
             {"managed, page faults of the kernel", write_managed, [&] { launch(managed.span()); }},
             {"managed, the kernel after a prefetch",
              [&] {
                  write_managed();
                  unwrap(managed.prefetch_async(stream));
                  unwrap(stream.sync());
              },
              [&] { launch(managed.span()); }},
             {"a copy from page-locked memory and the kernel", write_pinned, [&] {
                  unwrap(buffer.span().copy_from_async(stream, pinned.span()));
                  launch(buffer);
              }}}};
        report(machine,
               fmt::format("A kernel on {} that the host has written: time, ratio to the first, "
                           "rate",
                           size_text(bytes)),
               candidates, scale.rounds, 1, bytes);
    }
}

void measure(bench::Results& results) {
    const auto runtime = unwrap(Runtime::open());
    const auto device = unwrap(runtime.device());
    const Scale scale = scale_for(runtime.driver());
    const auto image = unwrap(device.compile(Source::text(kernels, "memory.cu")));
    auto library = unwrap(device.load(image));
    const Machine machine{device, unwrap(device.create_stream()), library,
                          unwrap(library.kernel<void(float*, std::uint64_t)>("touch")), results};
    results.set("device", device.name());
    results.set("driver", runtime.driver().version_text());
    if (runtime.driver().is_emulator()) results.set("software_device", "yes");
    fmt::print("{} (driver for CUDA {}), medians of {} rounds\n", device.name(),
               runtime.driver().version_text(), scale.rounds);
    measure_allocation(machine, scale);
    measure_constant(machine, scale);
    measure_host(machine, scale);
    measure_managed(machine, scale);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        bench::Results results("memory", count, arguments);
        measure(results);
        results.write();
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 1;
    }
    return 0;
}
