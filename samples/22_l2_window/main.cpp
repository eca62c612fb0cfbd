// A part of the L2 cache for a table that a kernel reads at random, while larger arrays pass
// through the cache: a window of the launch keeps the table's lines and lets the others go first.
//
//     cmake -B build && cmake --build build && build/22_l2_window
//     a table of … MB on …: … ms without a window…
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(std::string("failed: ") + what);
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto& properties = device.properties();
    const auto look_up =
        unwrap(device.load<void(const unsigned*, unsigned, const unsigned*, unsigned*, int)>(
            lode_embedded::kernels()[0].source(), "look_up"));

    const bool has_window = properties.access_policy_window_bytes > 0;
    // A table of half of what can be set aside; arrays of some 200 MB on a GPU.
    const std::size_t kept = std::min(properties.persisting_l2_bytes / 2,
                                      std::size_t(properties.access_policy_window_bytes));
    const auto entries = static_cast<std::uint32_t>((has_window ? kept : 65536) / sizeof(unsigned));
    const int n = runtime.driver().is_emulator() ? 1 << 16 : 1 << 25;
    std::vector<unsigned> values(entries);
    std::vector<unsigned> indices(n);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<unsigned>(i) * 2654435761U;
    for (std::size_t i = 0; i < indices.size(); ++i)
        indices[i] = static_cast<unsigned>(i) * 40503U ^ static_cast<unsigned>(i) >> 7;
    const auto table = unwrap(device.upload(values));
    const auto where = unwrap(device.upload(indices));
    const auto out = unwrap(device.alloc<unsigned>(n));

    const auto stream = unwrap(device.create_stream());
    lode::LaunchShape shape = lode::cover(n / 16);
    const auto milliseconds = [&] {
        return unwrap(lode::time_work(device, stream, {},
                                      [&] {
                                          return look_up.launch(stream, shape, table, entries,
                                                                where, out, n);
                                      }))
            .min_ms;
    };
    std::printf("a table of %.1f MB on %s: %.3f ms without a window", entries * 4e-6,
                device.name().c_str(), milliseconds());
    const lode::LaunchAttributes window{
        .access_policy = lode::AccessPolicyWindow{.address = table.native(),
                                                  .size_bytes = entries * sizeof(unsigned)}};
    if (has_window) {
        unwrap(lode::set_limit(device, lode::Limit::persisting_l2, kept));
        shape.attributes = &window;
        std::printf(", %.3f ms with one\n", milliseconds());
        unwrap(lode::reset_persisting_l2(device));
        unwrap(lode::set_limit(device, lode::Limit::persisting_l2, 0));
    } else {
        std::printf("; it has no windows\n");
    }
    const auto found = unwrap(out.to_vector());
    for (int i = 0; i < n; ++i)
        check(found[i] == values[indices[i] % entries], "every entry is the right one");
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
