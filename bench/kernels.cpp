// Checks and then measures rows of kernel families and their peers; see kernel_usage().
#include "kernels_arguments.hpp"
#include "kernels_measure.hpp"
#include "kernels_peers.hpp"
#include "kernels_report.hpp"
#include "lode_kernels/families.hpp"

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

using lode::bench::Candidate;
using lode::bench::Meter;
using lode::bench::PeerCall;
using lode::bench::ProblemResult;
using lode::bench::TimedLaunch;
using lode::kernels::FamilyEntry;
using lode::kernels::Workload;

using Workloads = std::vector<std::unique_ptr<Workload>>;

/// Measures copies between buffers that are larger than the L2 cache, in turns.
lode::Result<double> copy_rate(const lode::Device& device, bool software_device, Meter& meter) {
    const std::size_t words = software_device ? std::size_t{1} << 20 : std::size_t{1} << 26;
    std::vector<lode::DeviceBuffer<std::uint32_t>> buffers;
    for (int i = 0; i < 4; ++i) {
        auto buffer = device.alloc<std::uint32_t>(words);
        if (!buffer) return tl::unexpected(buffer.error());
        if (auto filled = buffer->fill(static_cast<std::uint32_t>(i)); !filled)
            return tl::unexpected(filled.error());
        buffers.push_back(*std::move(buffer));
    }
    const auto copy = [&](lode::StreamRef stream, std::size_t index) {
        const std::size_t pair = index % 2 * 2;
        return buffers[pair].copy_from_async(stream, buffers[pair + 1]);
    };
    constexpr double ms_per_s = 1e3;
    return meter.alone(copy).map([&](const lode::bench::Times& times) {
        return 2.0 * 4 * static_cast<double>(words) / times.median * ms_per_s;
    });
}

/// Two workloads, or as many as make their data four times the L2 cache, but at most 16: problems
/// so small that 16 of them fit there are measured in the cache, where the work before leaves them.
lode::Result<Workloads> make_workloads(const lode::Device& device, const FamilyEntry& entry,
                                       const lode::Problem& problem) {
    constexpr std::size_t most = 16;
    std::random_device entropy;
    Workloads workloads;
    double bytes = 0;
    const double wanted = 4.0 * static_cast<double>(device.properties().l2_bytes);
    while (workloads.size() < 2 || (bytes < wanted && workloads.size() < most)) {
        auto workload = entry.make(device, problem, entropy());
        if (!workload) return tl::unexpected(workload.error());
        bytes += (*workload)->bytes();
        workloads.push_back(*std::move(workload));
    }
    return workloads;
}

/// Poisons the outputs of the first workload, launches once and compares with the reference.
lode::Status check_once(Workload& workload, const TimedLaunch& launch, Meter& meter) {
    return workload.poison()
        .and_then([&] { return launch(meter.stream(), 0); })
        .and_then([&] { return meter.stream().sync(); })
        .and_then([&] { return workload.check(); });
}

/// Loads the row; the error is why it can't be measured.
lode::Result<TimedLaunch> launch_of_row(const lode::VariantLoader& loader, const FamilyEntry& entry,
                                        const std::string& row, const Workloads& workloads) {
    const auto& problem = workloads.front()->problem();
    auto variant = loader.load(entry.family, {.problem = problem, .forced = row});
    if (!variant) return tl::unexpected(std::move(variant).error());
    return [variant = *std::move(variant), &workloads](lode::StreamRef stream, std::size_t index) {
        return workloads[index % workloads.size()]->launch(variant, stream);
    };
}

lode::Result<TimedLaunch> launch_of_peer(lode::bench::PeerOffer& offer,
                                         const Workloads& workloads) {
    if (!offer.peer) return tl::unexpected(offer.peer.error());
    std::vector<PeerCall> calls;
    for (const auto& workload : workloads) {
        auto call = (*offer.peer)->prepare(*workload);
        if (!call) return tl::unexpected(std::move(call).error());
        calls.push_back(*std::move(call));
    }
    return [calls = std::move(calls)](lode::StreamRef stream, std::size_t index) {
        return calls[index % calls.size()](stream);
    };
}

/// The measurements of one problem.
class ProblemBench {
public:
    ProblemBench(const lode::VariantLoader& loader, const FamilyEntry& entry, Meter& meter)
        : loader_(loader), entry_(entry), meter_(meter) {}

    /// An error only if nothing more can be measured; rows that fail say so in the result.
    lode::Result<ProblemResult> run(const lode::Problem& problem,
                                    const lode::bench::KernelArguments& arguments) {
        auto workloads = make_workloads(loader_.device(), entry_, problem);
        if (!workloads) return tl::unexpected(workloads.error());
        const Workload& first = *workloads->front();
        ProblemResult result{.family = entry_.family.name,
                             .extents = std::string(entry_.extents),
                             .problem = problem,
                             .sets = workloads->size(),
                             .bytes = first.bytes(),
                             .operations = first.operations()};
        const auto choice =
            lode::select(entry_.family, loader_.device_properties(), {.problem = problem});
        if (!choice) return tl::unexpected(choice.error());
        for (const auto& row : entry_.family.rows) {
            if (arguments.chosen && &row != &entry_.family.rows[choice->row]) continue;
            if (auto why = lode::refusal_of(row, loader_.device_properties(), problem);
                why || !row.caveat.empty()) {
                result.candidates.push_back(
                    {.name = row.name, .verified = true, .problem = why.value_or(row.caveat)});
                continue;
            }
            add(result, {.name = row.name}, launch_of_row(loader_, entry_, row.name, *workloads),
                *workloads);
        }
        auto offers = arguments.peers ? lode::bench::peers_of(entry_, loader_.device())
                                      : std::vector<lode::bench::PeerOffer>();
        for (auto& offer : offers) {
            add(result, {.name = offer.name, .is_peer = true}, launch_of_peer(offer, *workloads),
                *workloads);
        }
        const auto times = meter_.in_turns(launches_);
        if (!times) return tl::unexpected(times.error());
        for (std::size_t i = 0; i < times->size(); ++i)
            result.candidates[measured_[i]].times = (*times)[i];
        check_again(result, *workloads);
        if (!arguments.tune) return result;
        return tuned_row(*workloads).map([&](std::string row) {
            result.tuned = std::move(row);
            return std::move(result);
        });
    }

private:
    /// Checks a candidate and, if its result is right, lets it take part.
    void add(ProblemResult& result, Candidate candidate, lode::Result<TimedLaunch> launch,
             const Workloads& workloads) {
        const lode::Status checked = launch ? check_once(*workloads.front(), *launch, meter_)
                                            : lode::Status(tl::unexpected(launch.error()));
        candidate.verified = checked.has_value();
        if (checked) {
            measured_.push_back(result.candidates.size());
            launches_.push_back(*std::move(launch));
        } else {
            candidate.problem = checked.error().describe();
        }
        result.candidates.push_back(std::move(candidate));
    }

    /// After thousands of launches the results must still be right: what a launch leaves in its
    /// state serves the next one.
    void check_again(ProblemResult& result, const Workloads& workloads) {
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            Candidate& candidate = result.candidates[measured_[i]];
            const auto checked = check_once(*workloads.front(), launches_[i], meter_);
            if (checked) continue;
            candidate.verified = false;
            candidate.times.reset();
            candidate.problem = "after the measurement: " + checked.error().describe();
        }
    }

    /// The row that tune() chooses for exactly this problem and keeps.
    lode::Result<std::string> tuned_row(const Workloads& workloads) {
        const auto& problem = workloads.front()->problem();
        std::size_t next = 0;
        return loader_
            .tune(entry_.family,
                  {.variant = {.problem = problem, .problem_class = lode::bench::text_of(problem)}},
                  [&](const lode::LoadedVariant& variant, lode::StreamRef stream) {
                      return workloads[next++ % workloads.size()]->launch(variant, stream);
                  })
            .map([](const lode::TuneReport& report) { return report.choice.row; });
    }

    const lode::VariantLoader& loader_;
    const FamilyEntry& entry_;
    Meter& meter_;
    std::vector<TimedLaunch> launches_;
    std::vector<std::size_t> measured_;  ///< The candidate of each launch.
};

/// The requested families and problems, in the order of the request.
lode::Result<std::vector<std::pair<const FamilyEntry*, std::vector<lode::Problem>>>> wanted_of(
    const lode::bench::KernelArguments& arguments) {
    std::vector<std::pair<const FamilyEntry*, std::vector<lode::Problem>>> wanted;
    for (const auto& request : arguments.families) {
        const auto* const entry = lode::kernels::find(request.family);
        if (entry == nullptr) {
            std::string names;
            for (const auto& known : lode::kernels::all())
                names += " " + known.family.name;
            return lode::fail(lode::Errc::not_found,
                              fmt::format("There is no kernel family '{}'. The families are:{}.",
                                          request.family, names));
        }
        wanted.emplace_back(entry,
                            request.problems.empty() ? entry->bench_problems : request.problems);
    }
    if (wanted.empty()) {
        for (const auto& entry : lode::kernels::all())
            wanted.emplace_back(&entry, entry.bench_problems);
    }
    return wanted;
}

lode::Status run(const lode::bench::KernelArguments& arguments, const std::string& command) {
    const auto wanted = wanted_of(arguments);
    if (!wanted) return tl::unexpected(wanted.error());
    const auto runtime = lode::Runtime::open();
    if (!runtime) return tl::unexpected(runtime.error());
    const auto device = runtime->device(0);
    if (!device) return tl::unexpected(device.error());
    auto meter = Meter::create(*device, arguments.rounds);
    if (!meter) return tl::unexpected(meter.error());
    lode::bench::Report report{.machine = lode::bench::machine_of(*runtime, *device),
                               .command = command,
                               .commit = arguments.commit};
    const auto rate = copy_rate(*device, report.machine.software_device, *meter);
    if (!rate) return tl::unexpected(rate.error());
    report.machine.copy_rate = *rate;
    fmt::print("{}", lode::bench::text_of(report.machine));

    const lode::VariantLoader loader(*runtime, *device);
    lode::Status outcome;
    for (const auto& [entry, problems] : *wanted) {
        for (const auto& problem : problems) {
            auto result = ProblemBench(loader, *entry, *meter).run(problem, arguments);
            if (!result) {
                outcome = tl::unexpected(std::move(result).error());
                if (device->is_lost()) break;
                continue;
            }
            fmt::print("{}", lode::bench::text_of(*result, report.machine));
            std::fflush(stdout);
            for (const auto& candidate : result->candidates) {
                if (!candidate.verified && !candidate.is_peer)
                    outcome = lode::fail(lode::Errc::driver_failed, candidate.problem);
            }
            report.problems.push_back(*std::move(result));
            // Now, so that an interrupted run leaves what it has measured.
            if (arguments.json.empty()) continue;
            if (auto written = write_json(report, arguments.json); !written) return written;
        }
        if (device->is_lost()) break;
    }
    fmt::print("{}", lode::bench::text_of_tuned(report.problems));
    return outcome;
}

}  // namespace

int main(int count, char** arguments) {
    std::string command = "lode_bench_kernels";
    for (int i = 1; i < count; ++i)
        command += std::string(" ") + arguments[i];
    const auto parsed = lode::bench::parse_kernel_arguments(
        {arguments + 1, static_cast<std::size_t>(std::max(count - 1, 0))});
    if (!parsed) {
        fmt::print(stderr, "{}\n", parsed.error().describe());
        return 2;
    }
    if (parsed->help) {
        fmt::print("{}", lode::bench::kernel_usage());
        for (const auto& entry : lode::kernels::all())
            fmt::print("    {:<14} {}\n", entry.family.name, entry.extents);
        return 0;
    }
    const auto done = run(*parsed, command);
    if (done) return 0;
    fmt::print(stderr, "{}\n", done.error().describe());
    return done.error().code == lode::Errc::not_found ? 2 : 1;
}
