// Measures what a start waits for PTX: a hit of lode's cache, and nvJitLink or ptxas at each start.
// On a GPU also the driver without its own cache, and what the kernels cost by either.
//
//     lode_bench_ptx_start [rounds]
//
// Each time is from the start of a new process's main() to its machine code, or to the loaded
// kernel.
#include "bench/timing.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using lode::unwrap;
using Clock = std::chrono::steady_clock;

struct Program {
    const char* file;
    const char* kernel;
};
constexpr Program programs[] = {{"samples/01_hello/saxpy.cu", "saxpy"},
                                {"tests/corpus/kernels/matmul.cu", "matmul_naive"},
                                {"tests/corpus/kernels/cub.cu", "cub_sort"}};

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

lode::CacheOptions cache_in(const std::string& folder, lode::PtxPolicy ptx) {
    lode::CacheOptions options;
    options.folder = folder;
    options.ptx = ptx;
    return options;
}

lode::Runtime open(const std::string& folder, lode::PtxPolicy ptx) {
    return unwrap(lode::Runtime::open({.cache = cache_in(folder, ptx)}));
}

/// One way to machine code, in a process of its own; prints the milliseconds.
int child(const std::vector<std::string>& words, Clock::time_point start) {
    const std::string& mode = words[0];
    const std::string& file = words[1];
    const std::string& target = words[2];
    const std::string& folder = words[3];
    const std::string& kernel = words[4];
    const auto source = lode::Source::file(file);
    if (mode == "hit") {
        const lode::CachedCompiler compiler({}, cache_in(folder, {}));
        unwrap(compiler.compile(source, *lode::Arch::parse(target)));
    } else if (mode == "link") {
        const auto input = unwrap(lode::LinkInput::from_file(file));
        unwrap(lode::Linker().link(std::span(&input, 1), *lode::Arch::parse(target)));
    } else {
        const auto policy =
            mode == "assembled" ? lode::PtxPolicy::assemble : lode::PtxPolicy::driver;
        const auto device = unwrap(open(folder, policy).device());
        const auto begin = Clock::now();  // The driver's own start is the same for both.
        unwrap(device.load(source, kernel));
        start = begin;
    }
    fmt::print("{}\n", milliseconds_since(start));
    return 0;
}

/// What a process prints, as a number.
double run(const std::string& line) {
    std::FILE* const pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("no process can be started");
    double value = -1;
    const bool has_answered = std::fscanf(pipe, "%lf", &value) == 1;
    if (::pclose(pipe) != 0 || !has_answered) throw std::runtime_error(line + " fails");
    return value;
}

/// The median of a child's times, after one that isn't measured.
double median_of(const std::string& line, int rounds) {
    std::vector<double> times;
    for (int i = 0; i <= rounds; ++i) {
        const double time = run(line);
        if (i > 0) times.push_back(time);
    }
    return lode::bench::median(std::move(times));
}

double median_of_ptxas(const std::string& file, const std::string& target, int rounds) {
    std::vector<double> times;
    for (int i = 0; i <= rounds; ++i) {
        const auto start = Clock::now();
        if (std::system(
                fmt::format("ptxas -arch={} {} -o /dev/null 2>/dev/null", target, file).c_str()) !=
            0)
            return -1;
        if (i > 0) times.push_back(milliseconds_since(start));
    }
    return lode::bench::median(std::move(times));
}

/// The microseconds of kernels in both compilers' code.
template <class Number>
void compare_kernel(const lode::Device& assembled, const lode::Device& left,
                    const lode::Source& source, const char* name, unsigned tile) {
    constexpr unsigned n = 2048;
    const lode::LaunchShape shape{.grid = {n / tile, n / tile}, .block = {tile, tile}};
    std::vector<double> times;
    for (const lode::Device* const device : {&assembled, &left}) {
        const auto a = unwrap(device->upload(std::vector<Number>(n * n, Number{1})));
        const auto b = unwrap(device->upload(std::vector<Number>(n * n, Number{2})));
        const auto c = unwrap(device->upload(std::vector<Number>(n * n, Number{0})));
        const auto kernel =
            unwrap(device->load<void(const Number*, const Number*, Number*, int)>(source, name));
        const auto stream = unwrap(device->create_stream());
        const auto timing =
            unwrap(lode::time_work(*device, stream, {.warm_ups = 3, .measurements = 21},
                                   [&] { return kernel.launch(stream, shape, a, b, c, int{n}); }));
        times.push_back(timing.median_ms * 1e3);
    }
    fmt::print("{:<16} {:10.1f} µs {:10.1f} µs {:8.3f}\n", name, times[0], times[1],
               times[0] / times[1]);
}

void bench(int rounds) {
    const auto folder = fs::temp_directory_path() / fmt::format("lode_ptx_start_{}", ::getpid());
    fs::create_directories(folder);
    const auto self = fs::canonical("/proc/self/exe").string();
    const auto runtime = lode::Runtime::open();
    const bool has_device =
        runtime && runtime->device_count() > 0 && !runtime->driver().is_emulator();
    const std::string target =
        has_device ? unwrap(unwrap(runtime->device()).target()).arch.to_string() : "sm_90";
    fmt::print("{}, {}, {} rounds, medians in ms\n", target, unwrap(lode::Linker().info()).name(),
               rounds);
    fmt::print("{:<10} {:>8} {:>10} {:>10} {:>10} {:>14} {:>14}\n", "PTX", "bytes", "hit",
               "nvJitLink", "ptxas", "load, hit", "load, driver");
    const lode::Compiler compiler;
    for (const auto& [file, kernel] : programs) {
        const auto image =
            unwrap(compiler.compile(lode::Source::file(std::string(LODE_SOURCE_DIR "/") + file),
                                    *lode::Arch::parse("compute_80")));
        const auto ptx = (folder / fs::path(file).stem()).string() + ".ptx";
        std::ofstream(ptx) << image.ptx;
        const auto line = [&, kernel = kernel](const char* mode) {
            return fmt::format("CUDA_CACHE_DISABLE=1 {} {} {} {} {} {}", self, mode, ptx, target,
                               (folder / "cache").string(), kernel);
        };
        fmt::print("{:<10} {:>8} {:>10.2f} {:>10.2f} {:>10.2f}", fs::path(file).stem().string(),
                   image.ptx.size(), median_of(line("hit"), rounds),
                   median_of(line("link"), rounds), median_of_ptxas(ptx, target, rounds));
        if (has_device) {
            fmt::print(" {:>14.2f} {:>14.2f}", median_of(line("assembled"), rounds),
                       median_of(line("driver"), rounds));
        }
        fmt::print("\n");
    }
    if (has_device) {
        fmt::print("\n{:<16} {:>13} {:>13} {:>8}\n", "kernel", "nvJitLink", "driver", "ratio");
        const auto source = lode::Source::file((folder / "matmul.ptx").string());
        const auto cache = (folder / "cache").string();
        const auto assembled = unwrap(open(cache, lode::PtxPolicy::assemble).device());
        const auto left = unwrap(open(cache, lode::PtxPolicy::driver).device());
        compare_kernel<float>(assembled, left, source, "matmul_naive", 16);
        compare_kernel<float>(assembled, left, source, "matmul_tiled16", 16);
        compare_kernel<float>(assembled, left, source, "matmul_tiled32", 32);
        compare_kernel<double>(assembled, left, source, "matmul_double", 16);
    }
    fs::remove_all(folder);
}

}  // namespace

int main(int count, char** values) {
    const auto start = Clock::now();
    try {
        const std::vector<std::string> words(values + 1, values + count);
        if (words.size() == 5) return child(words, start);
        bench(words.empty() ? 11 : std::stoi(words.front()));
    } catch (const std::exception& error) {
        fmt::print(stderr, "lode_bench_ptx_start: {}\n", error.what());
        return 1;
    }
    return 0;
}
