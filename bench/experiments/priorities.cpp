// Blocks of an urgent stream start before the waiting blocks of a less urgent one (Programming
// Guide, "Stream Priorities").
#include "bench/experiments/experiment.hpp"

#include <cstdint>

namespace {

constexpr const char* text = R"(
extern "C" __global__ void spin(unsigned* x) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i;
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) value = value * 1664525u + 1013904223u;
    x[i] = value;
})";

void priorities(experiment::Bench& bench) {
    using namespace experiment;
    constexpr std::uint32_t threads = 256;
    const int rounds = bench.size(20'000, 20);
    const auto spin = bench.load<void(unsigned*)>(text, "spin", {define("ROUNDS", rounds)});
    const auto range = unwrap(lode::stream_priorities(bench.device));
    bench.row("priorities", range.least - range.greatest + 1, "", reported());
    const std::uint32_t few = 8;
    const auto many =
        bench.size<std::uint32_t>(bench.device.properties().multiprocessors * 8 * 20, 32);
    auto filler = unwrap(bench.device.alloc<unsigned>(std::size_t{many} * threads));
    auto result = unwrap(bench.device.alloc<unsigned>(std::size_t{few} * threads));
    const auto background = unwrap(bench.device.create_stream({.priority = range.least}));
    const auto right = [&](std::size_t i) {
        auto value = static_cast<std::uint32_t>(i);
        for (int k = 0; k < rounds; ++k)
            value = value * 1664525U + 1013904223U;
        return value;
    };
    for (const bool urgent : {false, true}) {
        const auto stream =
            unwrap(bench.device.create_stream({.priority = urgent ? range.greatest : range.least}));
        const auto begun = unwrap(bench.device.create_event());
        const auto done = unwrap(bench.device.create_event());
        const auto all_done = unwrap(bench.device.create_event());
        std::vector<double> shares;
        for (int run = 0; run < bench.size(5, 1); ++run) {
            unwrap(result.zero());
            unwrap(begun.record(background));
            unwrap(spin.launch(background, {.grid = {many}, .block = {threads}}, filler));
            unwrap(all_done.record(background));
            unwrap(stream.wait(begun));
            unwrap(spin.launch(stream, {.grid = {few}, .block = {threads}}, result));
            unwrap(done.record(stream));
            unwrap(bench.device.sync());
            shares.push_back(unwrap(done.elapsed_ms_since(begun)) /
                             unwrap(all_done.elapsed_ms_since(begun)));
        }
        std::ranges::sort(shares);
        const auto found = unwrap(result.to_vector());
        for (const std::size_t i : {std::size_t{0}, found.size() / 2, found.size() - 1})
            check(found[i] == right(i), "the short kernel's numbers are right");
        const Figure share{shares[shares.size() / 2] * 100,
                           (shares.back() - shares.front()) / shares[shares.size() / 2]};
        bench.row(urgent ? "short kernel done, urgent stream" : "short kernel done, same priority",
                  bench.timed ? share : Figure{}, "%",
                  urgent ? at_most(25, "of the long kernel's time")
                         : at_least(75, "of the long kernel's time"));
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "Blocks of urgent streams are scheduled first: a short kernel needn't "
                           "wait for a long one that has filled the device.",
                           priorities);
}
