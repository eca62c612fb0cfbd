// A part of the L2 cache that is set aside for data that a kernel uses again and again: by the size
// of the data, and by the window's hit ratio (Best Practices Guide, "L2 Cache Access Window" and
// "Tuning the Access Window Hit-Ratio").
#include "bench/experiments/experiment.hpp"

namespace {

// As in the guide: each access to data that all threads share goes with one to data that streams
// through the cache. With 16 bytes a thread the memory is the limit.
constexpr const char* text = R"(
extern "C" __global__ void sweep(const int4* kept, int4* streamed) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int4 sum = streamed[i];
    const int4 more = kept[i % ENTRIES];
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    streamed[i] = sum;
})";

void window(experiment::Bench& bench) {
    using namespace experiment;
    const auto& properties = bench.device.properties();
    const bool has_window = properties.access_policy_window_bytes > 0;
    const std::size_t set_aside = has_window ? properties.persisting_l2_bytes : 0;
    if (!has_window) bench.remark("This device has no access policy windows.");
    const auto n = bench.size(std::size_t{1} << 28, std::size_t{1} << 14);
    auto out = unwrap(bench.device.alloc<int>(n));
    for (int percent = 25; percent <= 150; percent += 25) {
        const std::size_t kept =
            bench.timed && has_window ? set_aside * percent / 100 : std::size_t{4096};
        const auto entries = kept / 16 * 4;
        const auto sweep = bench.load<void(const int*, int*)>(
            text, "sweep", {{"ENTRIES", std::to_string(entries / 4) + "u"}});
        const auto value = [](std::size_t k) { return static_cast<int>(k * 7919 % 1021); };
        const auto table = bench.fill<int>(entries, value);
        unwrap(out.zero());
        lode::LaunchShape shape = lode::cover(n / 4);
        int sweeps = 0;
        const auto measure = [&] {
            return bench.ms([&] {
                ++sweeps;
                return sweep.launch(bench.stream, shape, table, out);
            });
        };
        const auto plain = measure();
        const std::string name = "data of " + std::to_string(percent) + "% of the set-aside";
        if (has_window && kept <= properties.access_policy_window_bytes) {
            unwrap(lode::set_limit(bench.device, lode::Limit::persisting_l2, set_aside));
            bench.row(name + ", set aside and not used, gain", plain / measure(), "x",
                      reported("the rest of the cache is smaller"));
            for (const bool tuned : {false, true}) {
                if (tuned && percent <= 100) continue;
                const lode::LaunchAttributes attributes{
                    .access_policy = lode::AccessPolicyWindow{
                        .address = table.native(),
                        .size_bytes = kept,
                        .hit_ratio = tuned ? 100.0F / static_cast<float>(percent) : 1.0F}};
                shape.attributes = &attributes;
                const auto windowed = measure();
                shape.attributes = nullptr;
                unwrap(lode::reset_persisting_l2(bench.device));
                bench.row(name + (tuned ? ", tuned ratio, gain" : ", ratio 1, gain"),
                          plain / windowed, "x",
                          reported(percent < 100 ? "A100: up to 1.5"
                                   : tuned       ? "A100: no loss"
                                                 : "A100: 0.9 beyond 100%"));
            }
            // No more than the data needs, which leaves the rest of the cache to what streams.
            if (percent < 100) {
                unwrap(lode::set_limit(bench.device, lode::Limit::persisting_l2, kept));
                const lode::LaunchAttributes attributes{
                    .access_policy =
                        lode::AccessPolicyWindow{.address = table.native(), .size_bytes = kept}};
                shape.attributes = &attributes;
                bench.row(name + ", as much set aside as data, gain", plain / measure(), "x",
                          at_least(1, "A100: up to 1.5"));
                shape.attributes = nullptr;
                unwrap(lode::reset_persisting_l2(bench.device));
            }
            unwrap(lode::set_limit(bench.device, lode::Limit::persisting_l2, 0));
        } else {
            bench.row(name + ", without a window", plain, "ms", reported());
        }
        bench.expect(out, "every sum is right",
                     [&](std::size_t k) { return sweeps * value(k % entries); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Data within the set-aside part of L2 is up to 1.5 times as fast on an "
                           "A100; beyond it, a hit ratio of set-aside / size avoids thrashing.",
                           window);
}
