// Compares kernels on the emulator with the same algorithm in plain C++, in one process.
//
//   lode_bench_emulator [workers] [kernel] [checks]
//
// With `checks`, it prints instead what the optional checks cost: the time of a launch with one of
// them, divided by that with the memory check alone. An empty name stands for all kernels.
//
// With several workers, the last column is their speed over that of one. The end of the output
// compares it with what the machine gives: the speed of as many software devices with a worker
// each, which share nothing and all run the kernel at the same time, over that of one; and the
// speed of as many threads of plain C++ that use hardly any memory, measured before and after the
// kernels.
#include "bench/emulator/bench.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace lode;
using bench::Arguments;
using bench::Bench;
using bench::own_folder;
using bench::Random;
using bench::Together;

void elementwise(Bench& b) {
    const int n = 1 << 22;
    float* const x = b.put(b.floats(n));
    float* const y = b.put(b.floats(n));
    b.row("saxpy", "map.cu", {n / 256}, {256}, Arguments::of(0.5f, x, y, n), 0,
          [=] { bench::saxpy(0.5f, x, y, n); });
    b.row("scale4", "map.cu", {n / 4 / 256}, {256}, Arguments::of(x, y, 1.5f, n / 4), 0,
          [=] { bench::scale4(x, y, 1.5f, n / 4); });
    b.row("stencil_shared", "stencil.cu", {n / 256}, {256}, Arguments::of(x, y, n), 258 * 4,
          [=] { bench::stencil3(x, y, n); });
    b.row("stencil5", "stencil.cu", {64, 256}, {32, 8}, Arguments::of(x, y, 2048, 2048), 0,
          [=] { bench::stencil5(x, y, 2048, 2048); });
    b.row("transpose_tiled", "transpose.cu", {64, 64}, {32, 8}, Arguments::of(x, y, 2048, 2048), 0,
          [=] { bench::transpose(x, y, 2048, 2048); });
    b.row("softmax", "softmax.cu", {256}, {256}, Arguments::of(x, y, 4096), 0,
          [=] { bench::softmax(x, y, 4096, 256); });
}

void reductions(Bench& b) {
    const int n = 1 << 22;
    int* const in = b.put(b.integers(n, -100, 100));
    int* const out = b.put(std::vector<int>(n));
    float* const x = b.put(b.floats(n));
    float* const sums = b.put(std::vector<float>(1024));
    // The native sums are stored here so that they aren't optimised away.
    auto* const sink = b.put(std::vector<double>(1));
    b.row("reduce_shuffle", "reduce.cu", {256}, {256}, Arguments::of(in, out, n), 0,
          [=] { *sink = bench::sum(in, n); });
    b.row("reduce_tree", "reduce.cu", {256}, {256}, Arguments::of(x, sums, n), 0,
          [=] { *sink = static_cast<double>(bench::sum(x, n)); });
    b.row("scan_warps", "scan.cu", {n / 512}, {512}, Arguments::of(in, out), 0,
          [=] { bench::scan(in, out, n, 512); });
    int* const data = b.put(b.integers(1 << 18, 0, 1 << 30));
    const std::vector<int> mixed(data, data + (1 << 18));
    b.row("bitonic", "sort.cu", {512}, {256}, Arguments::of(data), 0, [=] {
        std::copy(mixed.begin(), mixed.end(), data);
        bench::sort_blocks(data, 1 << 18, 512);
    });
    Random random(2);
    auto* const bytes = b.put(Random::fill<unsigned char>(n, [&] { return random.bits(); }));
    auto* const bins = b.put(std::vector<unsigned>(256));
    b.row("histogram_shared", "histogram.cu", {128}, {256}, Arguments::of(bytes, bins, n), 0,
          [=] { bench::histogram(bytes, bins, n); });
    auto* const codes = b.put(std::vector<unsigned>(n / 64));
    b.row("crc32", "integers.cu", {n / 64 / 256}, {256}, Arguments::of(bytes, codes, 64), 0,
          [=] { bench::crc32(bytes, codes, 64, n / 64); });
}

void searches(Bench& b) {
    auto values = b.integers(1 << 16, 0, 1 << 30);
    std::ranges::sort(values);
    int* const sorted = b.put(values);
    const int keys = 1 << 18;
    int* const key = b.put(b.integers(keys, 0, 1 << 30));
    int* const at = b.put(std::vector<int>(keys));
    b.row("lower_bounds", "sparse.cu", {keys / 256}, {256},
          Arguments::of(sorted, 1 << 16, key, at, keys), 0,
          [=] { bench::lower_bounds(sorted, 1 << 16, key, at, keys); });
    Random random(3);
    auto* const cells =
        b.put(Random::fill<unsigned char>(1 << 20, [&] { return random.bits() & 1; }));
    auto* const next = b.put(std::vector<unsigned char>(1 << 20));
    b.row("life", "stencil.cu", {32, 128}, {32, 8}, Arguments::of(cells, next, 1024, 1024), 0,
          [=] { bench::life(cells, next, 1024, 1024); });
    auto* const start =
        b.put(Random::fill<unsigned>(1 << 17, [&] { return random.integer(1, 1 << 20); }));
    auto* const steps = b.put(std::vector<unsigned>(1 << 17));
    b.row("collatz", "loops.cu", {512}, {256}, Arguments::of(start, steps, 1 << 17), 0,
          [=] { bench::collatz(start, steps, 1 << 17); });
    int* const image = b.put(std::vector<int>(512 * 512));
    b.row("mandelbrot", "loops.cu", {16, 64}, {32, 8}, Arguments::of(image, 512, 512, 256), 0,
          [=] { bench::mandelbrot(image, 512, 512, 256); });
}

void physics(Bench& b) {
    const int n = 512;
    float* const a = b.put(b.floats(n * n));
    float* const c = b.put(b.floats(n * n));
    float* const d = b.put(b.floats(n * n));
    const auto native = [=] { bench::matmul(a, c, d, n); };
    b.row("matmul_naive", "matmul.cu", {n / 32, n / 8}, {32, 8}, Arguments::of(a, c, d, n), 0,
          native);
    b.row("matmul_tiled16", "matmul.cu", {n / 16, n / 16}, {16, 16}, Arguments::of(a, c, d, n), 0,
          native);
    b.row("matmul_tiled32", "matmul.cu", {n / 32, n / 32}, {32, 32}, Arguments::of(a, c, d, n), 0,
          native);
    const int bodies = 2048;
    float* const body = b.put(b.floats(4 * bodies));
    float* const force = b.put(b.floats(4 * bodies));
    b.row("nbody", "physics.cu", {bodies / 128}, {128}, Arguments::of(body, force, bodies), 0,
          [=] { bench::nbody(body, force, bodies); });
    const int options = 1 << 17;
    float* const spot = b.put(b.floats(options, 5, 30));
    float* const strike = b.put(b.floats(options, 5, 30));
    float* const years = b.put(b.floats(options, 0.25, 10));
    float* const call = b.put(std::vector<float>(options));
    float* const put = b.put(std::vector<float>(options));
    b.row("black_scholes", "physics.cu", {options / 256}, {256},
          Arguments::of(spot, strike, years, call, put, 0.02f, 0.3f, options), 0,
          [=] { bench::black_scholes(spot, strike, years, call, put, 0.02f, 0.3f, options); });
}

/// Kernels of programs that also have code for processors, beside such code.
void clients(Bench& b) {
    const int n = 256;
    float* const x = b.put(b.floats(n * n));
    float* const y = b.put(b.floats(n * n));
    float* const made = b.put(b.floats(n * n));
    const auto product = [=] { bench::product_of_vectors(x, y, made, n); };
    b.row("product_elements", "clients.cu", {n / 16, n / 16}, {16, 16},
          Arguments::of(x, y, made, n), 0, product, own_folder);
    b.row("product_tiles", "clients.cu", {n / 32, n / 32}, {8, 8}, Arguments::of(x, y, made, n), 0,
          product, own_folder);
    const int particles = 2048;
    float* const particle = b.put(b.floats(4 * particles, 0, 10));
    float* const force = b.put(std::vector<float>(4 * particles));
    b.row(
        "forces", "clients.cu", {particles / 128}, {128},
        Arguments::of(particle, force, particles, 9.0f), 0,
        [=] { bench::forces_of_vectors(particle, force, particles, 9); }, own_folder);
}

/// For the checks alone.
void apart(Bench& b) {
    const int n = 1 << 20;
    float* const x = b.put(b.floats(4 * n));
    const auto add = [&](const char* kernel, const Arguments& arguments) {
        b.row(kernel, "apart.cu", {n / 256}, {256}, arguments, 0, {}, own_folder);
    };
    float* const y = b.put(std::vector<float>(4 * n));
    for (const char* const kernel : {"copy_structures", "scatter", "scatter_doubles", "columns",
                                     "count_global", "shift", "reverse"})
        add(kernel, Arguments::of(x, y, n));
    add("move_vectors", Arguments::of(y, 1.0f, n));
    for (const char* const kernel : {"gather_own", "add_own", "reverse_shared"})
        add(kernel, Arguments::of(y, n));
    float* const bytes = b.put(std::vector<float>(n));
    for (const char* const kernel :
         {"copy_bytes", "copy_halves", "scatter_bytes", "scatter_halves"})
        add(kernel, Arguments::of(x, bytes, n));
    add("add_halves", Arguments::of(bytes, n));
    add("bytes_shared", Arguments::of(bytes, n));
}

void kernels(Bench& b) {
    elementwise(b);
    reductions(b);
    searches(b);
    physics(b);
}

/// The kernels on as many devices as there are workers, each with one.
int compare_with_devices(const Bench& bench, unsigned count, const std::string& only) {
    Together together(count);
    std::atomic<int> failures = 0;
    std::vector<std::thread> devices;
    for (unsigned k = 0; k < count; ++k) {
        devices.emplace_back([&] {
            Bench device(1, only, false, &together);
            kernels(device);
            failures += device.finish();
        });
    }
    for (std::thread& device : devices)
        device.join();
    if (failures == 0) bench.compare_gains(together);
    return failures;
}

}  // namespace

int main(int count, char** arguments) {
    const auto workers = static_cast<unsigned>(count > 1 ? std::atoi(arguments[1]) : 1);
    if (const std::string why = emulator::exec::unsupported_processor(); !why.empty()) {
        std::puts(why.c_str());
        return 1;
    }
    const bool checks = count > 3 && std::string_view(arguments[3]) == "checks";
    // Rows appear when they are measured, also in a file.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Bench bench(workers, count > 2 ? arguments[2] : "", checks);
    if (checks) {
        std::puts("| kernel            | memory ms |   race |   init |   sync | streams |");
        std::puts("|---|---|---|---|---|---|");
    } else {
        std::puts(
            "ns/thread-instr: the time of a launch divided by 32 times the PTX instructions that "
            "its "
            "warps ran, however many lanes were active.");
        std::puts(
            "| kernel            | emulated ms | plain ms | ratio | ns/thread-instr | checks % |");
        std::puts("|---|---|---|---|---|---|");
    }
    bench.measure_machine();
    kernels(bench);
    bench.measure_machine();
    if (checks) {
        apart(bench);
    } else {
        bench.product();
        bench.tiny();
        bench.loads();
        bench.growth();
    }
    bench.finish();
    if (!checks && workers == 1) {
        std::puts("beside vectorised code:");
        clients(bench);
    }
    int failures = bench.failures();
    if (bench.has_gains())
        failures += compare_with_devices(bench, workers, count > 2 ? arguments[2] : "");
    return failures;
}
