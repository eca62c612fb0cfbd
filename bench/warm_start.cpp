// Measures the time from the start of a process to its first verified result: with lode and a warm
// disk cache, and with the driver alone and the same machine code in a file. The two alternate.
//
//     lode_bench_warm_start [pairs] [--json FILE]
//
// The 95 % interval of the median ratio comes from resampling the pairs (bootstrap, 10,000 draws
// with a fixed seed).
#include "bench/warm_start.hpp"

#include "bench/results.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Milliseconds until the program reports that its result is verified.
double start_of(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("a pipe can't be created");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const auto& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const auto start = Clock::now();
    pid_t child = 0;
    const int failed =
        ::posix_spawn(&child, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) throw std::runtime_error(command[0] + " doesn't start");
    char said = 0;
    const bool verified = ::read(ends[0], &said, 1) == 1;
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!verified || status != 0)
        throw std::runtime_error(command[0] + " gives no verified result");
    return time.count();
}

/// The bounds of the middle 95 % of the medians of samples drawn from the values.
std::pair<double, double> interval_of_median(const std::vector<double>& values) {
    constexpr int draws = 10'000;
    std::mt19937 random(1);
    std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
    std::vector<double> medians;
    std::vector<double> sample(values.size());
    for (int i = 0; i < draws; ++i) {
        std::ranges::generate(sample, [&] { return values[pick(random)]; });
        const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
        std::ranges::nth_element(sample, middle);
        medians.push_back(*middle);
    }
    return {lode::bench::quantile(medians, 0.025), lode::bench::quantile(medians, 0.975)};
}

struct Quartiles {
    double low, middle, high;
};

Quartiles quartiles_of(std::vector<double> values) {
    std::ranges::sort(values);
    const auto at = [&](double part) {
        return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
    };
    return {at(0.25), at(0.5), at(0.75)};
}

void print(const char* what, const std::vector<double>& times) {
    const auto [low, middle, high] = quartiles_of(times);
    fmt::print("{:<36} {:8.2f} ms (quartiles {:.2f} to {:.2f})\n", what, middle, low, high);
}

std::string line_of(const fs::path& file) {
    std::string line;
    std::ifstream in(file);
    std::getline(in, line);
    return line;
}

void bench(int pairs, lode::bench::Results& results) {
    const auto scratch = fs::temp_directory_path() / fmt::format("lode_warm_start_{}", ::getpid());
    ::setenv("LODE_CACHE_DIR", scratch.c_str(), 1);
    ::setenv("LODE_CACHE", "on", 1);
    fs::create_directories(scratch);

    // This process opens no driver: that would keep the GPU awake for the others. The first process
    // compiles; afterwards the file system's cache is warm for both.
    const auto folder = fs::canonical("/proc/self/exe").parent_path();
    const std::vector<std::string> with_lode{(folder / "lode_bench_warm_start_lode").string()};
    start_of({with_lode[0], scratch.string()});
    const auto code = (scratch / "code").string();
    const std::vector<std::string> raw{(folder / "lode_bench_warm_start_raw").string(),
                                       line_of(scratch / "driver"), code};
    const auto device = line_of(scratch / "device");
    for (int i = 0; i < 2; ++i) {
        start_of(with_lode);
        start_of(raw);
    }
    std::vector<double> lode_times;
    std::vector<double> raw_times;
    std::vector<double> ratios;
    for (int i = 0; i < pairs; ++i) {
        const bool lode_first = i % 2 == 0;
        if (lode_first) lode_times.push_back(start_of(with_lode));
        raw_times.push_back(start_of(raw));
        if (!lode_first) lode_times.push_back(start_of(with_lode));
        ratios.push_back(lode_times.back() / raw_times.back());
    }
    fs::remove_all(scratch);
    fmt::print("{}, {} pairs of processes\n", device, pairs);
    print("lode, from its disk cache", lode_times);
    print("the driver alone, from a file", raw_times);
    const auto [low, middle, high] = quartiles_of(ratios);
    fmt::print("{:<36} {:8.3f}    (quartiles {:.3f} to {:.3f})\n", "ratio, median of the pairs",
               middle, low, high);
    const auto [least, most] = interval_of_median(ratios);
    fmt::print("{:<36}          {:.4f} to {:.4f}\n", "95 % interval of that median", least, most);
    results.set("device", device);
    results.set("pairs", std::to_string(pairs));
    results.add(lode::bench::measured(
        {.group = "process start", .series = "lode, from its disk cache", .unit = "ms"},
        lode_times));
    results.add(lode::bench::measured(
        {.group = "process start", .series = "the driver alone", .unit = "ms"}, raw_times));
    results.add({.group = "process start, ratio (95 % interval)",
                 .series = "lode / the driver alone",
                 .unit = "x",
                 .value = middle,
                 .low = least,
                 .high = most});
}

}  // namespace

int main(int count, char** arguments) {
    try {
        lode::bench::Results results("warm_start", count, arguments);
        bench(count > 1 ? std::max(1, std::atoi(arguments[1])) : 183, results);
        results.write();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
