#include "bench/experiments/experiment.hpp"

#include "bench/results.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace experiment {
namespace {

using lode::bench::json_number;
using lode::bench::quoted;

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

std::string describe(const Expectation& expected) {
    const bool low = std::isfinite(expected.low);
    const bool high = std::isfinite(expected.high);
    std::string text;
    if (low && high) text = number(expected.low) + " to " + number(expected.high);
    if (low && !high) text = ">= " + number(expected.low);
    if (!low && high) text = "<= " + number(expected.high);
    if (expected.note.empty()) return text;
    return text.empty() ? expected.note : text + " (" + expected.note + ")";
}

Figure of_times(std::vector<double> times) {
    const auto summary = lode::summarise(std::move(times), 1);
    return {summary.median_ms, (summary.max_ms - summary.min_ms) / summary.median_ms};
}

}  // namespace

Bench::Bench()
    : runtime(
          unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}))),
      device(unwrap(runtime.device())),
      stream(unwrap(device.create_stream())),
      timed(!runtime.driver().is_emulator()) {}

Figure Bench::ms(const std::function<lode::Status()>& enqueue, int runs) const {
    if (!timed) {
        unwrap(enqueue());
        unwrap(stream.sync());
        return {};
    }
    const lode::TimingOptions options{.warm_ups = 3, .measurements = 9, .runs = runs};
    const auto time = unwrap(lode::time_work(device, stream, options, enqueue));
    return {time.median_ms, (time.max_ms - time.min_ms) / time.median_ms};
}

Figure Bench::host_ms(const std::function<void()>& work) const {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    const int warm_ups = timed ? 2 : 0;
    const int measurements = timed ? 9 : 1;
    for (int run = 0; run < warm_ups + measurements; ++run) {
        unwrap(device.sync());
        const auto begin = Clock::now();
        work();
        unwrap(device.sync());
        const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
        if (run >= warm_ups) times.push_back(time.count());
    }
    return timed ? of_times(std::move(times)) : Figure{};
}

void Bench::row(const std::string& what, Figure measured, const char* unit,
                const Expectation& expected) {
    std::string verdict = "reported";
    if (std::isnan(measured.value)) {
        verdict = timed ? "not measured" : "not measured on the software device";
    } else if (std::isfinite(expected.low) || std::isfinite(expected.high)) {
        const bool met = measured.value >= expected.low && measured.value <= expected.high;
        verdict = met ? "as expected" : "missed";
    }
    const std::string value = std::isnan(measured.value) ? "-" : number(measured.value);
    const std::string spread =
        measured.spread > 0 && !std::isnan(measured.value)
            ? " +-" + number(std::round(measured.spread * 50 * 10) / 10) + "%"
            : "";
    std::printf("%-44s %9s %-6s%-8s %-13s %s\n", what.c_str(), value.c_str(), unit, spread.c_str(),
                verdict.c_str(), describe(expected).c_str());
    rows_.push_back({what, unit, measured, expected, verdict});
}

void Bench::remark(const std::string& text) {
    std::printf("%s\n", text.c_str());
}

int Bench::misses() const {
    return static_cast<int>(std::ranges::count(rows_, "missed", &Row::verdict));
}

void Bench::write_json(const std::string& file, const std::string& name, const char* claim,
                       const std::string& command) const {
    std::ofstream out(file);
    out << "{\"experiment\": " << quoted(name) << ", \"claim\": " << quoted(claim)
        << ",\n \"device\": " << quoted(device.name())
        << ", \"compute_capability\": " << quoted(device.cc().to_string())
        << ", \"software_device\": " << (timed ? "false" : "true")
        << ",\n \"driver\": " << quoted(runtime.driver().version_text())
        << ", \"lode\": " << quoted(LODE_EXPERIMENT_VERSION) << ", \"command\": " << quoted(command)
        << ", \"misses\": " << misses() << ",\n \"rows\": [";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        out << (i == 0 ? "\n" : ",\n") << "  {\"what\": " << quoted(row.what)
            << ", \"unit\": " << quoted(row.unit)
            << ", \"measured\": " << json_number(row.measured.value)
            << ", \"spread\": " << json_number(row.measured.spread)
            << ", \"low\": " << json_number(row.expected.low)
            << ", \"high\": " << json_number(row.expected.high)
            << ", \"note\": " << quoted(row.expected.note)
            << ", \"verdict\": " << quoted(row.verdict) << "}";
    }
    out << "]}\n";
    out.close();
    check(!out.fail(), "writing " + file);
}

int run(int argc, char** argv, const char* claim, void (*body)(Bench&)) {
    std::string json;
    std::string command;
    for (int i = 0; i < argc; ++i) {
        command += (i == 0 ? "" : " ") + std::string(argv[i]);
        if (std::string(argv[i]) == "--json" && i + 1 < argc) json = argv[i + 1];
    }
    if (argc != (json.empty() ? 1 : 3)) {
        std::fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
        return 2;
    }
    constexpr std::string_view prefix = "lode_experiment_";
    std::string name = std::filesystem::path(argv[0]).filename();
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    try {
        Bench bench;
        std::printf("%s on %s (%s, driver %s)\n%s\n", name.c_str(), bench.device.name().c_str(),
                    bench.device.cc().to_string().c_str(),
                    bench.runtime.driver().version_text().c_str(), claim);
        body(bench);
        std::printf("All results are right; %d figures differ from what is expected.\n",
                    bench.misses());
        if (!json.empty()) bench.write_json(json, name, claim, command);
        return 0;
    } catch (const lode::Exception& failure) {
        constexpr int skipped = 77;
        std::fprintf(stderr, "%s\n", failure.what());
        const auto code = failure.error().code;
        const bool none = code == lode::Errc::driver_missing || code == lode::Errc::no_device;
        return none ? skipped : 1;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}

}  // namespace experiment
