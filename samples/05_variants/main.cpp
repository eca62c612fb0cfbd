// Variants: one kernel in two versions as a table of rows; each device gets the best one it can
// run.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include <lode_embedded/total.hpp>

namespace {

lode::VariantRow make_row(const char* name, const char* source, const char* arch) {
    lode::VariantRow row;
    row.name = name;
    row.source = source;
    row.kernel = "total";
    row.needs.arch = lode::unwrap(lode::Arch::parse(arch));
    row.shape = [](const lode::Problem& problem, const lode::VariantDeviceProperties& device) {
        auto shape = lode::cover(problem.x);
        const auto most = static_cast<std::uint32_t>(device.multiprocessors) * 8;
        if (shape.grid.x > most) shape.grid.x = most;
        return shape;
    };
    return row;
}

void variants() {
    constexpr int n = 1000000;
    // Best first; the last one runs everywhere.
    const lode::KernelFamily family{
        "total",
        {make_row("redux", "total_sm80.cu", "sm_80"), make_row("shuffle", "total.cu", "sm_75")},
        lode_embedded::total()};

    const auto runtime = sample::open_runtime();
    const lode::VariantLoader loader(runtime, lode::unwrap(runtime.device()));
    const auto& device = loader.device();

    std::vector<int> numbers(n);
    std::iota(numbers.begin(), numbers.end(), -n / 2 + 7);
    const auto expected =
        static_cast<int>(std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0}));
    const auto on_device = lode::unwrap(device.upload(numbers));
    const auto stream = lode::unwrap(device.create_stream());

    // The row chosen for this device (LODE_FORCE_VARIANT=total:shuffle overrides it), then each
    // row.
    const auto chosen = lode::unwrap(loader.load(family));
    std::printf("%s (%s) runs total:%s\n%s\n", device.name().c_str(),
                device.cc().to_string().c_str(), chosen.row.name.c_str(),
                chosen.describe().c_str());
    for (const auto row : lode::eligible_rows(family, loader.device_properties())) {
        const auto variant = lode::unwrap(loader.load(family, {.forced = family.rows[row].name}));
        const auto kernel =
            lode::unwrap(lode::Kernel<void(const int*, int*, int)>::from_untyped(variant.kernel));
        const auto total = lode::unwrap(device.upload(std::vector<int>{0}));
        lode::unwrap(kernel.launch(stream, variant.shape({n}), on_device, total, n));
        lode::unwrap(stream.sync());
        sample::check(lode::unwrap(total.to_vector()).front() == expected,
                      variant.row.name + " adds up");
        std::printf("total:%s is correct\n", variant.row.name.c_str());
    }
}

}  // namespace

int main() {
    return sample::run(variants);
}
