// Variants: one kernel in two versions as a table of rows; each device gets the best one it can
// run.
//
//     cmake -B build && cmake --build build && build/05_variants
//     … runs total:redux
//       takes redux: it is the best row that can run
//     total:redux is correct
//     total:shuffle is correct
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

lode::VariantRow make_row(const char* name, const char* source, const char* arch) {
    lode::VariantRow row;
    row.name = name;
    row.source = source;
    row.kernel = "total";
    row.needs.arch = unwrap(lode::Arch::parse(arch));
    row.shape = [](const lode::Problem& problem, const lode::VariantDeviceProperties& device) {
        auto shape = lode::cover(problem.x);
        const auto most = static_cast<std::uint32_t>(device.multiprocessors) * 8;
        if (shape.grid.x > most) shape.grid.x = most;
        return shape;
    };
    return row;
}

}  // namespace

int main() try {
    constexpr int n = 1000000;
    // Best first; the last one runs everywhere.
    const lode::KernelFamily family{
        "total",
        {make_row("redux", "total_sm80.cu", "sm_80"), make_row("shuffle", "total.cu", "sm_75")},
        lode_embedded::kernels()};

    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const lode::VariantLoader loader(runtime, unwrap(runtime.device()));
    const auto& device = loader.device();

    std::vector<int> numbers(n);
    std::iota(numbers.begin(), numbers.end(), -n / 2 + 7);
    const auto expected =
        static_cast<int>(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}));
    const auto on_device = unwrap(device.upload(numbers));
    const auto stream = unwrap(device.create_stream());

    // The row chosen for this device (LODE_FORCE_VARIANT=total:shuffle overrides it), then each
    // row.
    const auto chosen = unwrap(loader.load(family));
    std::printf("%s (%s) runs total:%s\n%s\n", device.name().c_str(),
                device.cc().to_string().c_str(), chosen.row.name.c_str(),
                chosen.describe().c_str());
    for (const auto row : lode::eligible_rows(family, loader.device_properties())) {
        const auto variant = unwrap(loader.load(family, {.forced = family.rows[row].name}));
        const auto kernel =
            unwrap(lode::Kernel<void(const int*, int*, int)>::from_untyped(variant.kernel));
        const auto total = unwrap(device.upload(std::vector<int>{0}));
        unwrap(kernel.launch(stream, variant.shape({n}), on_device, total, n));
        unwrap(stream.sync());
        check(unwrap(total.to_vector()).front() == expected, variant.row.name.c_str());
        std::printf("total:%s is correct\n", variant.row.name.c_str());
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
