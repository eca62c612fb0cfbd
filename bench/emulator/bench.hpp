// Measures kernels on the software device beside plain C++: one launch, the checks, several
// workers, and loading.
#pragma once

#include "bench/emulator/natives.hpp"
#include "emulator/exec/machine.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <barrier>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tests/corpus/corpus.hpp>

namespace lode::bench {

using corpus::Arguments;
using corpus::Random;
using emulator::Dim3;

inline constexpr std::string_view folder = LODE_SOURCE_DIR "/tests/corpus/kernels";
inline constexpr std::string_view own_folder = LODE_SOURCE_DIR "/bench/emulator";

/// Processor time of this thread, which other load doesn't affect; wall-clock time if other threads
/// help.
inline double now_in_milliseconds(bool alone) {
    timespec now{};
    clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// The minimum over several runs.
inline double milliseconds_of(bool alone, const std::function<void()>& work, int runs = 9) {
    double best = 1e300;
    for (int k = 0; k < runs; ++k) {
        const double start = now_in_milliseconds(alone);
        work();
        best = std::min(best, now_in_milliseconds(alone) - start);
    }
    return best;
}

/// Software devices that run the same kernels at the same time, each in a thread of its own.
class Together {
public:
    explicit Together(unsigned devices) : start_(static_cast<std::ptrdiff_t>(devices)) {}

    /// Called by every device's thread: the launches per millisecond of all of them, in the best of
    /// several rounds.
    void measure(const std::string& kernel, const std::function<void()>& launch) {
        constexpr int rounds = 9;
        for (int k = 0; k < rounds; ++k) {
            start_.arrive_and_wait();
            const double start = now_in_milliseconds(false);
            launch();
            const double taken = now_in_milliseconds(false) - start;
            {
                const std::lock_guard lock(mutex_);
                sum_ += 1 / taken;
            }
            start_.arrive_and_wait();
            const std::lock_guard lock(mutex_);
            double& best = speeds_[kernel];
            best = std::max(best, std::exchange(sum_, 0));
        }
        start_.arrive_and_wait();
    }
    [[nodiscard]] double speed(const std::string& kernel) const { return speeds_.at(kernel); }

private:
    std::barrier<> start_;
    std::mutex mutex_;
    double sum_ = 0;  ///< This round's total.
    std::map<std::string, double> speeds_;
};

class Bench {
public:
    /// `together`: other devices to measure with.
    Bench(unsigned workers, std::string only, bool checks, Together* together = nullptr)
        : machine_(memory_, workers),
          only_(std::move(only)),
          checks_(checks),
          alone_(workers == 1),
          together_(together) {
        if (checks_ && !memory_.watch_writes()) std::exit(1);
    }

    template <class T>
    T* put(const std::vector<T>& values) {
        const auto at =
            memory_.allocate(values.size() * sizeof(T), emulator::MemoryKind::device, "benchmark");
        auto* const to = reinterpret_cast<T*>(at);
        std::memcpy(to, values.data(), values.size() * sizeof(T));
        memory_.note_write(at, values.size() * sizeof(T));
        return to;
    }
    std::vector<float> floats(std::size_t count, double low = 0, double high = 1) {
        return Random::fill<float>(count, [&] { return random_.real(low, high); });
    }
    std::vector<int> integers(std::size_t count, int low, int high) {
        return Random::fill<int>(count, [&] { return random_.integer(low, high); });
    }

    /// Measures one kernel: checked and unchecked launches, the plain function, and one worker
    /// against all.
    void row(std::string_view kernel, std::string_view file, Dim3 grid, Dim3 block,
             const Arguments& arguments, unsigned shared, const std::function<void()>& native,
             std::string_view from = folder) {
        if (!only_.empty() && only_ != kernel) return;
        const emulator::Module& module = module_of(file, from);
        emulator::exec::LaunchOutcome outcome;
        if (checks_) return cost_of_checks(module, kernel, {grid, block, shared}, arguments);
        const auto launch = [&](bool checked, unsigned workers = 0) {
            emulator::exec::LaunchOptions options;
            options.checks.memory = checked;
            options.workers = workers;
            outcome =
                machine_.launch(module, kernel, {grid, block, shared}, arguments.bytes(), options);
        };
        launch(true);
        if (outcome.fault != emulator::exec::Fault::none) {
            std::puts(outcome.report.c_str());
            ++failures_;
            return;
        }
        if (together_ != nullptr)
            return together_->measure(std::string(kernel), [&] { launch(true); });
        const double emulated = milliseconds_of(alone_, [&] { launch(true); });
        const double unchecked = milliseconds_of(alone_, [&] { launch(false); });
        const double plain = milliseconds_of(true, native);
        const double instructions = static_cast<double>(outcome.warp_instructions) * 32;
        const double ratio = emulated / plain;
        product_ += std::log(ratio);
        ++rows_;
        std::string gain;
        if (machine_.workers() >= 2) {
            const double one = milliseconds_of(false, [&] { launch(true, 1); });
            gains_.push_back({std::string(kernel), one, one / emulated});
            gain = fmt::format(" {:>6.2f} |", one / emulated);
        }
        std::puts(fmt::format("| {:<17} | {:>9.3f} | {:>9.3f} | {:>6.2f} | {:>7.3f} | {:>6.1f} |{}",
                              kernel, emulated, plain, ratio, emulated * 1e6 / instructions,
                              100 * (emulated / unchecked - 1), gain)
                      .c_str());
    }

    /// Measures the machine without the emulator, if several workers are to be compared with one.
    void measure_machine() {
        if (machine_.workers() < 2 || checks_) return;
        machine_gain_ = std::max(machine_gain_, speed_of_threads(machine_.workers()));
    }

    /// The time of one minimal launch, in microseconds.
    void tiny() {
        if (!only_.empty()) return;
        const emulator::Module& module = module_of("map.cu");
        const int n = 32;
        float* const x = put(floats(32));
        const double ms = milliseconds_of(alone_, [&] {
            for (int k = 0; k < 1000; ++k) {
                static_cast<void>(machine_.launch(module, "saxpy", {{1}, {32}, 0},
                                                  Arguments::of(1.0f, x, x, n).bytes()));
            }
        });
        std::puts(fmt::format("one launch of 32 threads: {:.2f} us", ms).c_str());
    }
    /// The time to load all kernels of the corpus, from PTX text to ready to launch.
    void loads() {
        if (!only_.empty()) return;
        std::vector<double> times;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            static_cast<void>(module_of(entry.path().filename().string()));
        for (const auto& text : texts_) {
            times.push_back(milliseconds_of(true, [&] {
                const auto loaded = emulator::Module::load(memory_, text.second, 9, 0);
                // Kernels are decoded on first use.
                for (const std::string& name : loaded.module->kernel_names()) {
                    if (loaded.module->refusal(name) != nullptr) ++failures_;
                }
            }));
        }
        std::ranges::sort(times);
        std::puts(fmt::format("PTX to ready, {} files: median {:.2f} ms, most {:.2f} ms",
                              times.size(), times[times.size() / 2], times.back())
                      .c_str());
    }
    /// The time of a product of 1024 by 1024 matrices with mma, against plain loops over floats.
    void product() {
        if (!only_.empty() && only_ != "product") return;
        constexpr int n = 1024;
        auto* const x = put(floats(std::size_t{n} * n, -1, 1));
        auto* const y = put(floats(std::size_t{n} * n, -1, 1));
        auto* const sums = put(std::vector<float>(std::size_t{n} * n));
        const auto bfloats = [&](const float* from) {
            std::vector<std::uint16_t> made(std::size_t{n} * n);
            for (std::size_t i = 0; i < made.size(); ++i)
                made[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(from[i]) >> 16);
            return put(made);
        };
        const Arguments arguments = Arguments::of(bfloats(x), bfloats(y), sums, n);
        const emulator::Module& module = module_of("product.cu", own_folder, 9);
        emulator::exec::LaunchOutcome outcome;
        const double emulated = milliseconds_of(
            alone_,
            [&] {
                outcome = machine_.launch(module, "product", {{n / 64, n / 64}, {128}, 0},
                                          arguments.bytes());
            },
            3);
        if (outcome.fault != emulator::exec::Fault::none) {
            std::puts(outcome.report.c_str());
            ++failures_;
        }
        const double plain = milliseconds_of(
            true, [&] { bench::product(x, y, sums, n); }, 3);
        std::puts(fmt::format("1024^3 product of bf16 with mma: {:.0f} ms, plain loops over floats "
                              "{:.0f} ms, ratio {:.2f}",
                              emulated, plain, emulated / plain)
                      .c_str());
    }
    /// The time to load texts of ten and a hundred times the size, for each byte and relative to
    /// the shortest: many kernels, or a single long one.
    void growth() {
        if (!only_.empty() && only_ != "growth") return;
        for (const bool one_kernel : {false, true}) {
            double base = 0;
            for (const int times : {1, 10, 100}) {
                const std::string text = long_text(one_kernel ? 1 : 40 * times,  //
                                                   one_kernel ? 40 * times : 1);
                const double ms = milliseconds_of(
                    true,
                    [&] {
                        const auto loaded = emulator::Module::load(memory_, text, 9, 0);
                        if (!loaded.module) return void(++failures_);
                        for (const std::string& name : loaded.module->kernel_names())
                            failures_ += loaded.module->refusal(name) != nullptr ? 1 : 0;
                    },
                    3);
                const double each = ms * 1e6 / static_cast<double>(text.size());
                if (times == 1) base = each;
                std::puts(fmt::format("loading {}, {:>8} bytes: {:.1f} ns a byte, {:.2f} times the "
                                      "shortest",
                                      one_kernel ? "one kernel" : "kernels", text.size(), each,
                                      each / base)
                              .c_str());
            }
        }
    }
    [[nodiscard]] int failures() const noexcept { return failures_; }
    int finish() const {
        if (rows_ > 0) {
            std::puts(fmt::format("geometric mean of {} ratios: {:.2f}", rows_,
                                  std::exp(product_ / rows_))
                          .c_str());
        }
        return failures_;
    }
    [[nodiscard]] bool has_gains() const { return !gains_.empty(); }
    /// Compares the speed of several workers with that of as many devices.
    void compare_gains(const Together& together) const {
        const unsigned workers = machine_.workers();
        std::puts(fmt::format("| kernel            | {0} workers over one | {0} devices over one |",
                              workers)
                      .c_str());
        std::puts("|---|---|---|");
        double own = 0;
        double separate = 0;
        for (const Gain& one : gains_) {
            const double devices = one.milliseconds * together.speed(one.kernel);
            std::puts(fmt::format("| {:<17} | {:>18.2f} | {:>18.2f} |", one.kernel, one.gain,  //
                                  devices)
                          .c_str());
            own += std::log(one.gain) / static_cast<double>(gains_.size());
            separate += std::log(devices) / static_cast<double>(gains_.size());
        }
        std::puts(fmt::format("wall-clock, geometric mean: {} workers over one {:.2f}, as many "
                              "devices {:.2f}, ratio {:.2f}; threads of plain C++ over one: {:.2f}",
                              workers, std::exp(own), std::exp(separate), std::exp(own - separate),
                              machine_gain_)
                      .c_str());
    }

private:
    struct Gain {
        std::string kernel;
        double milliseconds;  ///< With one worker.
        double gain;          ///< Speed of all workers over that of one.
    };

    /// PTX with `kernels` kernels; each has `parts` times a dozen instructions, with registers and
    /// a label of their own, as compilers write them.
    static std::string long_text(int kernels, int parts) {
        std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n";
        for (int k = 0; k < kernels; ++k) {
            text += fmt::format(
                ".visible .entry k{0}(.param .u64 p) {{\n.reg .b32 %r<{1}>;\n.reg .b64 %rd<{2}>;\n"
                ".reg .pred %p<{3}>;\n.shared .align 4 .b8 table[1024];\n"
                "ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\n",
                k, 5 * parts + 1, 5 * parts + 1, parts + 1);
            for (int i = 0; i < parts; ++i) {
                const int r = 5 * i;
                text += fmt::format(
                    "mul.wide.s32 %rd{1}, %r{0}, 4;\nadd.s64 %rd{2}, %rd0, %rd{1};\n"
                    "ld.global.u32 %r{1}, [%rd{2}];\nadd.s32 %r{2}, %r{1}, 3;\n"
                    "setp.lt.s32 %p{6}, %r{2}, 100;\n@%p{6} bra L{6};\n"
                    "mov.u64 %rd{3}, table;\nand.b32 %r{3}, %r{2}, 255;\n"
                    "mul.wide.s32 %rd{4}, %r{3}, 4;\nadd.s64 %rd{5}, %rd{3}, %rd{4};\n"
                    "st.shared.u32 [%rd{5}], %r{1};\n"
                    "L{6}:\nadd.s32 %r{4}, %r{2}, 1;\nxor.b32 %r{5}, %r{4}, %r{0};\n",
                    r, r + 1, r + 2, r + 3, r + 4, r + 5, i);
            }
            text += "ret;\n}\n";
        }
        return text;
    }
    void cost_of_checks(const emulator::Module& module, std::string_view kernel,
                        const emulator::exec::GridShape& shape, const Arguments& arguments) {
        using emulator::exec::Checks;
        const auto time = [&](const Checks& checks) {
            emulator::exec::LaunchOptions options;
            options.checks = checks;
            return milliseconds_of(alone_, [&] {
                emulator::TouchedBytes touched;
                if (checks.streams) options.touched = &touched;
                const auto outcome =
                    machine_.launch(module, kernel, shape, arguments.bytes(), options);
                if (outcome.fault != emulator::exec::Fault::none || outcome.findings != 0)
                    ++failures_;
            });
        };
        const double plain = time({});
        std::puts(fmt::format("| {:<17} | {:>9.3f} | {:>6.2f} | {:>6.2f} | {:>6.2f} | {:>7.2f} |",
                              kernel, plain, time({.race = true}) / plain,
                              time({.init = true}) / plain, time({.sync = true}) / plain,
                              time({.streams = true}) / plain)
                      .c_str());
    }
    const emulator::Module& module_of(std::string_view file, std::string_view from = folder,
                                      int major = 8) {
        auto& module = modules_[std::string(file)];
        if (module) return *module;
        const auto source = Source::file(std::string(from) + "/" + std::string(file));
        CompileOptions options;
        options.extra_flags = {"--device-int128"};
        auto image =
            compiler_.compile(source, *Arch::parse(fmt::format("compute_{}0", major)), options);
        if (!image) {
            std::puts(image.error().message.c_str());
            std::exit(1);
        }
        texts_[std::string(file)] = image->ptx;
        auto loaded = emulator::Module::load(memory_, image->ptx, major, 0);
        if (!loaded.module) {
            std::puts(loaded.log.c_str());
            std::exit(1);
        }
        module = std::move(loaded.module);
        return *module;
    }

    emulator::Memory memory_;
    emulator::exec::Machine machine_;
    Compiler compiler_;
    std::map<std::string, std::unique_ptr<emulator::Module>> modules_;
    std::map<std::string, std::string> texts_;
    std::string only_;
    bool checks_ = false;
    bool alone_;  ///< One worker: the launching thread does everything.
    Together* together_ = nullptr;
    Random random_{1};
    double product_ = 0;
    std::vector<Gain> gains_;
    double machine_gain_ = 0;  ///< For plain C++.
    int rows_ = 0;
    int failures_ = 0;
};

}  // namespace lode::bench
