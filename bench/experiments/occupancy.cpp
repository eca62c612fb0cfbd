// Occupancy against bandwidth. Unused dynamic shared memory lets fewer blocks be resident, without
// another compilation; a limit of registers lets more be, and spills (Best Practices Guide,
// "Occupancy", "Effects of Shared Memory", "Register Pressure").
#include "bench/experiments/experiment.hpp"

#include <cstdint>

namespace {

constexpr const char* text = R"(
extern "C" __global__ void copy(float* out, const float* in) {
    const int first = blockIdx.x * blockDim.x * ELEMENTS + threadIdx.x;
    float own[ELEMENTS];
#pragma unroll
    for (int k = 0; k < ELEMENTS; ++k) own[k] = in[first + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < ELEMENTS; ++k) out[first + k * blockDim.x] = own[k];
})";

void occupancy(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::uint32_t threads = 256;
    const std::size_t n = bench.size(std::size_t{1} << 26, std::size_t{1} << 13);
    const auto value = [](std::size_t i) { return static_cast<float>(i % 8191); };
    const auto in = bench.fill<float>(n, value);
    auto out = unwrap(bench.device.alloc<float>(n));
    using Copy = lode::Kernel<void(float*, const float*)>;
    const auto measure = [&](const Copy& copy, int elements, std::size_t shared) {
        lode::LaunchShape shape = lode::cover(n / elements, threads);
        shape.dynamic_shared_bytes = static_cast<std::uint32_t>(shared);
        unwrap(out.zero());
        const auto time = bench.ms([&] { return copy.launch(bench.stream, shape, out, in); });
        bench.expect(out, "every element is copied", value);
        return Bench::gb_per_s(2.0 * sizeof(float) * static_cast<double>(n), time);
    };
    for (const int elements : {1, 4}) {
        const auto copy =
            bench.load<void(float*, const float*)>(text, "copy", {define("ELEMENTS", elements)});
        const auto most = unwrap(copy.occupancy(threads)).blocks_per_multiprocessor;
        Figure full;
        for (int blocks = most; blocks >= 1; blocks /= 2) {
            const auto shared =
                blocks == most ? 0 : unwrap(lode::available_dynamic_shared(copy, blocks, threads));
            const auto resident = unwrap(copy.occupancy(threads, shared));
            check(resident.blocks_per_multiprocessor == blocks, "so many blocks are resident");
            const auto bandwidth = measure(copy, elements, shared);
            if (blocks == most) full = bandwidth;
            char name[80];
            std::snprintf(name, sizeof name, "%.1f%% occupancy, %d elements a thread",
                          resident.fraction * 100, elements);
            bench.row(
                name, bandwidth / full, "x",
                resident.fraction >= 0.5
                    ? at_least(0.9, "flat from 50% on")
                    : reported(elements == 1 ? "falls" : "falls later: more loads in flight"));
        }
    }
    constexpr int elements = 32;
    for (const int registers : {0, 64, 32, 24}) {
        lode::KernelOptions options;
        options.compile.max_registers = registers;
        options.compile.definitions = {define("ELEMENTS", elements)};
        // The compiler's own account, which is the same without a GPU.
        const auto image =
            unwrap(bench.device.compile(lode::Source::text(text, "copy.cu"), options));
        const auto* cost = image.resources_of("copy");
        const auto library = unwrap(bench.device.load(image));
        const auto copy = unwrap(library.kernel<void(float*, const float*)>("copy"));
        const auto bandwidth = measure(copy, elements, 0);
        const std::string name =
            registers == 0 ? std::string("no limit") : "at most " + std::to_string(registers);
        if (cost != nullptr) {
            bench.row(name + ", registers", cost->registers, "",
                      registers == 0 ? reported() : at_most(registers));
            bench.row(name + ", spilled", static_cast<double>(cost->spill_store_bytes), "bytes",
                      reported());
        }
        bench.row(name + ", bandwidth", bandwidth, "GB/s", reported());
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "More occupancy beyond about half gains little, and independent work in "
                           "each thread replaces it; a limit of registers raises it and may spill.",
                           occupancy);
}
