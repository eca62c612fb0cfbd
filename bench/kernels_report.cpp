#include "kernels_report.hpp"

#include "kernels_arguments.hpp"

#include <fstream>

#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;
constexpr double ms_per_s = 1e3;

std::string json_text(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out + '"';
}

std::string json_of(const Candidate& candidate) {
    std::string text =
        fmt::format(R"({{"name": {}, "kind": "{}", "verified": {})", json_text(candidate.name),
                    candidate.is_peer ? "peer" : "row", candidate.verified);
    if (candidate.times) {
        const Times& times = *candidate.times;
        text += fmt::format(
            R"(, "median_ms": {:.6g}, "low_ms": {:.6g}, "high_ms": {:.6g}, "rounds": {}, "batch": {})",
            times.median, times.low, times.high, times.rounds, times.batch);
    }
    if (!candidate.problem.empty())
        text += fmt::format(R"(, "problem": {})", json_text(candidate.problem));
    return text + "}";
}

std::string json_of(const ProblemResult& result) {
    std::string text = fmt::format(
        R"({{"family": {}, "extents": {}, "problem": [{}, {}, {}], "sets": {}, "bytes": {:.0f}, "operations": {:.0f}, "tuned": {}, "results": [)",
        json_text(result.family), json_text(result.extents), result.problem.x, result.problem.y,
        result.problem.z, result.sets, result.bytes, result.operations, json_text(result.tuned));
    for (std::size_t i = 0; i < result.candidates.size(); ++i)
        text += (i == 0 ? "\n   " : ",\n   ") + json_of(result.candidates[i]);
    return text + "]}";
}

std::string line_of(const Candidate& candidate, const ProblemResult& result,
                    const Machine& machine) {
    if (!candidate.times) {
        return fmt::format("  {:<12} {}: {}\n", candidate.name,
                           candidate.verified || candidate.is_peer ? "not measured" : "FAILED",
                           candidate.problem);
    }
    const Times& times = *candidate.times;
    const double seconds = times.median / ms_per_s;
    const double rate = result.bytes / seconds;
    std::string line = fmt::format("  {:<12} {:10.4f} ms ±{:4.1f} % ", candidate.name, times.median,
                                   50 * (times.high - times.low) / times.median);
    if (result.operations > 0)
        line += fmt::format("{:8.1f} TFLOP/s", result.operations / seconds / tera);
    else
        line += fmt::format("{:8.1f} GB/s {:6.3f} of copy", rate / giga, rate / machine.copy_rate);
    if (candidate.is_peer) return line + "\n";
    for (const auto& peer : result.candidates) {
        if (peer.is_peer && peer.times)
            line += fmt::format(" {:6.3f} of {}", peer.times->median / times.median, peer.name);
    }
    return line + "\n";
}

}  // namespace

const Candidate* ProblemResult::measured(std::string_view name) const noexcept {
    for (const auto& candidate : candidates) {
        if (candidate.name == name && candidate.times) return &candidate;
    }
    return nullptr;
}

const Candidate* ProblemResult::first_row() const noexcept {
    for (const auto& candidate : candidates) {
        if (!candidate.is_peer && candidate.times) return &candidate;
    }
    return nullptr;
}

Machine machine_of(const Runtime& runtime, const Device& device) {
    const auto& properties = device.properties();
    return {.device = device.name(),
            .compute_capability = device.cc().to_string(),
            .driver = runtime.driver().version_text(),
            .software_device = runtime.driver().is_emulator(),
            .multiprocessors = properties.multiprocessors,
            .l2_bytes = properties.l2_bytes,
            .ecc = properties.ecc,
            .clocks = device.clocks(),
            .theoretical_rate = device.theoretical_bandwidth()};
}

std::string text_of(const Machine& machine) {
    return fmt::format(
        "{} (compute capability {}), driver {}, {} MiB L2, ECC {}\n"
        "copy rate {:.1f} GB/s, theoretical {:.1f} GB/s ({:.3f})\n",
        machine.device, machine.compute_capability, machine.driver, machine.l2_bytes >> 20,
        machine.ecc ? "on" : "off", machine.copy_rate / giga, machine.theoretical_rate / giga,
        machine.theoretical_rate > 0 ? machine.copy_rate / machine.theoretical_rate : 0);
}

std::string text_of(const ProblemResult& result, const Machine& machine) {
    std::string text = fmt::format("\n{} {} ({}), {} data sets taking turns\n", result.family,
                                   text_of(result.problem), result.extents, result.sets);
    const Times* first = nullptr;
    const Times* last = nullptr;
    for (const auto& candidate : result.candidates) {
        text += line_of(candidate, result, machine);
        if (candidate.is_peer || !candidate.times) continue;
        if (first == nullptr) first = &*candidate.times;
        last = &*candidate.times;
    }
    if (first != last) {
        text += fmt::format("  the preferred row is {:.2f}x as fast as the portable one\n",
                            last->median / first->median);
    }
    return text;
}

std::string text_of_tuned(const std::vector<ProblemResult>& problems) {
    std::string text;
    for (const auto& result : problems) {
        const Candidate* const first = result.first_row();
        const Candidate* const tuned = result.measured(result.tuned);
        if (first == nullptr || tuned == nullptr) continue;
        text += fmt::format("  {:<14} {:<16} {:<14} {:10.4f} ms  {:<14} {:10.4f} ms  {:6.3f}\n",
                            result.family, text_of(result.problem), first->name,
                            first->times->median, tuned->name, tuned->times->median,
                            first->times->median / tuned->times->median);
    }
    if (text.empty()) return text;
    return fmt::format(
               "\nWhat the tuned choice wins over the first row\n  {:<14} {:<16} {:<14} "
               "{:>13}  {:<14} {:>13}  {:>6}\n",
               "family", "size", "first row", "", "tuned", "", "times") +
           text;
}

Status write_json(const Report& report, const std::string& file) {
    const Machine& machine = report.machine;
    std::ofstream out(file);
    out << fmt::format(
        R"({{"program": "lode_bench_kernels", "lode": {}, "commit": {}, "command": {},
 "device": {}, "compute_capability": {}, "driver": {}, "software_device": {},
 "multiprocessors": {}, "l2_bytes": {}, "ecc": {}, "core_clock_khz": {}, "memory_clock_khz": {},
 "copy_rate": {:.6g}, "theoretical_rate": {:.6g},
 "problems": [)",
        json_text(LODE_BENCH_VERSION), json_text(report.commit), json_text(report.command),
        json_text(machine.device), json_text(machine.compute_capability), json_text(machine.driver),
        machine.software_device, machine.multiprocessors, machine.l2_bytes, machine.ecc,
        machine.clocks.core_khz, machine.clocks.memory_khz, machine.copy_rate,
        machine.theoretical_rate);
    for (std::size_t i = 0; i < report.problems.size(); ++i)
        out << (i == 0 ? "\n  " : ",\n  ") << json_of(report.problems[i]);
    out << "]}\n";
    out.close();
    if (!out.fail()) return {};
    return fail(Errc::file_failed, fmt::format("The results can't be written to {}.", file));
}

}  // namespace lode::bench
