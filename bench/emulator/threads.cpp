// What the machine gives several threads: virtual processors may share cores.
#include "bench/emulator/natives.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

namespace lode::bench {

namespace {

constexpr int size = 256;

/// The seconds until all of them have made the same image.
double time_of(unsigned threads) {
    using Clock = std::chrono::steady_clock;
    std::vector<std::vector<int>> images(threads, std::vector<int>(size * size));
    std::vector<Clock::time_point> ends(threads);
    std::barrier start(static_cast<std::ptrdiff_t>(threads));
    Clock::time_point begin;
    const auto work = [&](unsigned k) {
        start.arrive_and_wait();
        if (k == 0) begin = Clock::now();
        for (int repeat = 0; repeat < 4; ++repeat)
            mandelbrot(images[k].data(), size, size, 256);
        ends[k] = Clock::now();
    };
    std::vector<std::thread> others;
    for (unsigned k = 1; k < threads; ++k)
        others.emplace_back(work, k);
    work(0);
    for (std::thread& one : others)
        one.join();
    return std::chrono::duration<double>(*std::ranges::max_element(ends) - begin).count();
}

}  // namespace

double speed_of_threads(unsigned count) {
    double one = 1e300;
    double all = 1e300;
    for (int k = 0; k < 5; ++k) {
        one = std::min(one, time_of(1));
        all = std::min(all, time_of(count));
    }
    return count * one / all;
}

}  // namespace lode::bench
