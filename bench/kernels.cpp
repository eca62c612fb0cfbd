// Checks and then measures every row of every kernel family that the device can run: bandwidth
// against the copy rate of the same run and the theoretical one, the matrix product against cuBLAS.
//
//     lode_bench_kernels [family …]
#include "gemm/half.hpp"
#include "kernels_cublas.hpp"
#include "kernels_measure.hpp"
#include "lode_kernels/families.hpp"

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

using lode::bench::Meter;
using lode::kernels::FamilyEntry;
using lode::kernels::Workload;

constexpr double giga = 1e9;
constexpr double tera = 1e12;
constexpr double ms_per_s = 1e3;

/// The rates that results are compared with.
struct Roof {
    double copy = 0;         ///< Bytes per second, read and written.
    double theoretical = 0;  ///< Bytes per second.
};

struct Measured {
    std::string row;
    double milliseconds = 0;
};

/// Measures copies between buffers that are larger than the L2 cache, in turns.
lode::Result<double> copy_rate(const lode::Device& device, Meter& meter) {
    constexpr std::size_t words = std::size_t{1} << 26;  // 256 MiB.
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
    return meter.median(copy).map(
        [](double ms) { return 2.0 * 4 * static_cast<double>(words) / ms * ms_per_s; });
}

std::string text_of(const lode::Problem& problem) {
    return problem.y == 1   ? fmt::format("{}", problem.x)
           : problem.z == 1 ? fmt::format("{}x{}", problem.x, problem.y)
                            : fmt::format("{}x{}x{}", problem.x, problem.y, problem.z);
}

/// Workloads whose data together is at least four times the L2 cache.
lode::Result<std::vector<std::unique_ptr<Workload>>> make_workloads(const lode::Device& device,
                                                                    const FamilyEntry& entry,
                                                                    const lode::Problem& problem) {
    std::random_device entropy;
    std::vector<std::unique_ptr<Workload>> workloads;
    double bytes = 0;
    const double wanted = 4.0 * static_cast<double>(device.properties().l2_bytes);
    while (workloads.size() < 2 || bytes < wanted) {
        auto workload = entry.make(device, problem, entropy());
        if (!workload) return tl::unexpected(workload.error());
        bytes += (*workload)->bytes();
        workloads.push_back(*std::move(workload));
    }
    return workloads;
}

lode::Status check_once(Workload& workload, const lode::LoadedVariant& variant, Meter& meter) {
    return workload.poison()
        .and_then([&] { return workload.launch(variant, meter.stream()); })
        .and_then([&] { return meter.stream().sync(); })
        .and_then([&] { return workload.check(); });
}

void print_row(const std::string& name, const Workload& workload, const Measured& measured,
               const Roof& roof, std::optional<double> ratio_to_below) {
    const double seconds = measured.milliseconds / ms_per_s;
    std::string rates;
    if (workload.operations() > 0) {
        rates = fmt::format("{:8.1f} TFLOP/s", workload.operations() / seconds / tera);
    } else {
        const double rate = workload.bytes() / seconds;
        rates = fmt::format("{:8.1f} GB/s {:6.3f} of copy {:6.3f} of theoretical", rate / giga,
                            rate / roof.copy, roof.theoretical > 0 ? rate / roof.theoretical : 0);
    }
    fmt::print("  {:<12} {:10.4f} ms {}{}\n", name, measured.milliseconds, rates,
               ratio_to_below ? fmt::format("  {:.2f}x the row below", *ratio_to_below) : "");
}

/// The time of cuBLAS on the same problem with its own data.
lode::Result<double> cublas_time(lode::bench::Cublas& cublas, lode::bench::Cublas::Element element,
                                 const lode::Device& device, const lode::Problem& problem,
                                 Meter& meter) {
    const auto& format = element == lode::bench::Cublas::Element::bf16 ? lode::kernels::bfloat16
                                                                       : lode::kernels::float16;
    struct Set {
        lode::DeviceBuffer<std::uint16_t> a;
        lode::DeviceBuffer<std::uint16_t> b;
        lode::DeviceBuffer<std::uint16_t> c;
    };
    std::vector<Set> sets;
    for (std::uint64_t i = 0; i < 2; ++i) {
        auto a = device.upload(lode::kernels::random_halves(format, problem.x * problem.z, 2 * i));
        if (!a) return tl::unexpected(a.error());
        auto b =
            device.upload(lode::kernels::random_halves(format, problem.y * problem.z, 2 * i + 1));
        if (!b) return tl::unexpected(b.error());
        auto c = device.alloc<std::uint16_t>(problem.x * problem.y);
        if (!c) return tl::unexpected(c.error());
        sets.push_back({*std::move(a), *std::move(b), *std::move(c)});
    }
    return meter.median([&](lode::StreamRef stream, std::size_t index) {
        const Set& set = sets[index % sets.size()];
        return cublas.multiply(stream, element, problem, set.a.data(), set.b.data(), set.c.data());
    });
}

lode::Status bench_cublas(lode::bench::Cublas::Element element, const lode::Device& device,
                          const lode::Problem& problem, const std::vector<Measured>& rows,
                          const Workload& workload, Meter& meter) {
    auto cublas = lode::bench::Cublas::open(device);
    if (!cublas) {
        fmt::print("  cuBLAS       isn't measured: {}\n", cublas.error().message);
        return {};
    }
    const auto time = cublas_time(*cublas, element, device, problem, meter);
    if (!time) return tl::unexpected(time.error());
    fmt::print("  {:<12} {:10.4f} ms {:8.1f} TFLOP/s\n", "cuBLAS", *time,
               workload.operations() / *time * ms_per_s / tera);
    for (const auto& row : rows)
        fmt::print("  {:<12} {:.3f} of cuBLAS\n", row.row, *time / row.milliseconds);
    return {};
}

/// Checks a row, then times it.
lode::Result<double> time_row(const lode::VariantLoader& loader, const FamilyEntry& entry,
                              const std::string& row, const lode::Problem& problem,
                              const std::vector<std::unique_ptr<Workload>>& workloads,
                              Meter& meter) {
    const auto variant = loader.load(entry.family, {.problem = problem, .forced = row});
    if (!variant) return tl::unexpected(variant.error());
    if (auto right = check_once(*workloads.front(), *variant, meter); !right)
        return tl::unexpected(std::move(right).error());
    return meter.median([&](lode::StreamRef stream, std::size_t index) {
        return workloads[index % workloads.size()]->launch(*variant, stream);
    });
}

lode::Status bench_problem(const lode::VariantLoader& loader, const FamilyEntry& entry,
                           const lode::Problem& problem, const Roof& roof, Meter& meter) {
    auto workloads = make_workloads(loader.device(), entry, problem);
    if (!workloads) return tl::unexpected(workloads.error());
    fmt::print("\n{} {} ({}), {} data sets taking turns\n", entry.family.name, text_of(problem),
               entry.extents, workloads->size());
    std::vector<Measured> rows;
    std::optional<lode::Error> failure;
    for (const auto& row : entry.family.rows) {
        if (auto why = lode::refusal_of(row, loader.device_properties(), problem);
            why || !row.caveat.empty()) {
            fmt::print("  {:<12} not measured: {}\n", row.name, why.value_or(row.caveat));
            continue;
        }
        const auto time = time_row(loader, entry, row.name, problem, *workloads, meter);
        if (!time) {
            // A failing row is reported and doesn't stop the others.
            fmt::print("  {:<12} FAILED: {}\n", row.name, time.error().describe());
            failure = time.error();
            if (loader.device().is_lost()) return tl::unexpected(time.error());
            continue;
        }
        rows.push_back({row.name, *time});
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::optional<double> ratio;
        if (i + 1 < rows.size()) ratio = rows[i + 1].milliseconds / rows[i].milliseconds;
        print_row(rows[i].row, *workloads->front(), rows[i], roof, ratio);
    }
    if (rows.size() > 1) {
        fmt::print("  the preferred row is {:.2f}x as fast as the portable one\n",
                   rows.back().milliseconds / rows.front().milliseconds);
    }
    std::fflush(stdout);
    if (entry.folder == "gemm") {
        const auto element = entry.family.name == "gemm_bf16" ? lode::bench::Cublas::Element::bf16
                                                              : lode::bench::Cublas::Element::f16;
        auto yardstick =
            bench_cublas(element, loader.device(), problem, rows, *workloads->front(), meter);
        if (!yardstick) return yardstick;
    }
    if (failure) return tl::unexpected(*std::move(failure));
    return {};
}

lode::Status run(const std::vector<std::string>& wanted) {
    const auto runtime = lode::Runtime::open();
    if (!runtime) return tl::unexpected(runtime.error());
    const auto device = runtime->device(0);
    if (!device) return tl::unexpected(device.error());
    auto meter = Meter::create(*device);
    if (!meter) return tl::unexpected(meter.error());
    const auto rate = copy_rate(*device, *meter);
    if (!rate) return tl::unexpected(rate.error());
    const Roof roof{*rate, device->theoretical_bandwidth()};
    fmt::print("{} (compute capability {}), driver {}, {} MiB L2, ECC {}\n", device->name(),
               device->cc().to_string(), runtime->driver().version_text(),
               device->properties().l2_bytes >> 20, device->properties().ecc ? "on" : "off");
    fmt::print("copy rate {:.1f} GB/s, theoretical {:.1f} GB/s ({:.3f})\n", roof.copy / giga,
               roof.theoretical / giga, roof.theoretical > 0 ? roof.copy / roof.theoretical : 0);

    const lode::VariantLoader loader(*runtime, *device);
    lode::Status outcome;
    for (const auto& entry : lode::kernels::all()) {
        if (!wanted.empty() && std::ranges::find(wanted, entry.family.name) == wanted.end())
            continue;
        for (const auto& problem : entry.bench_problems) {
            auto done = bench_problem(loader, entry, problem, roof, *meter);
            if (done) continue;
            if (device->is_lost()) return done;
            outcome = std::move(done);
        }
    }
    return outcome;
}

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> wanted(arguments + 1, arguments + count);
    for (const auto& name : wanted) {
        if (lode::kernels::find(name) != nullptr) continue;
        std::string names;
        for (const auto& entry : lode::kernels::all())
            names += " " + entry.family.name;
        fmt::print(stderr, "There is no kernel family '{}'. The families are:{}.\n", name, names);
        return 2;
    }
    const auto done = run(wanted);
    if (done) return 0;
    fmt::print(stderr, "{}\n", done.error().describe());
    return 1;
}
