// Copies and kernels in parts on several streams, beside the estimate of the Best Practices Guide,
// "Asynchronous and Overlapping Transfers with Computation": the longer of both times, and a part
// of the shorter. Parts are issued depth first and breadth first.
#include "bench/experiments/experiment.hpp"

namespace {

constexpr const char* text = R"(
extern "C" __global__ void work(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
#pragma unroll 1
    for (int k = 0; k < ROUNDS; ++k) x = x * 0.5f + 8.0f;
    out[i] = x;
})";

void overlap(experiment::Bench& bench) {
    using namespace experiment;
    const int n = bench.size(1 << 24, 1 << 12);
    const int rounds = bench.size(1000, 4);
    const auto work =
        bench.load<void(const float*, float*, int)>(text, "work", {define("ROUNDS", rounds)});
    const auto host = unwrap(bench.device.alloc_pinned<float>(n));
    std::fill(host.begin(), host.end(), 16.0F);  // 16 stays 16.
    host[0] = 0;
    float first = 0;
    for (int k = 0; k < rounds; ++k)
        first = first * 0.5F + 8;
    auto in = unwrap(bench.device.alloc<float>(n));
    auto out = unwrap(bench.device.alloc<float>(n));
    std::vector<lode::Stream> streams;
    for (int i = 0; i < 16; ++i)
        streams.push_back(unwrap(bench.device.create_stream()));
    const auto copy = [&](int part, int size) {
        const auto from =
            std::span<const float>(host.span()).subspan(std::size_t(part) * size, size);
        unwrap(unwrap(in.span().subspan(std::size_t(part) * size, size))
                   .copy_from_async(streams[part], from));
    };
    const auto run = [&](int part, int size) {
        const auto offset = static_cast<std::ptrdiff_t>(part) * size;
        unwrap(work.launch(streams[part], lode::cover(size), in.data() + offset,
                           out.data() + offset, size));
    };
    const auto copying = bench.host_ms([&] { copy(0, n); });
    const auto running = bench.host_ms([&] { run(0, n); });
    const auto one_after_other = bench.host_ms([&] {
        copy(0, n);
        run(0, n);
    });
    bench.row("copy (tT)", copying, "ms", reported());
    bench.row("kernel (tE)", running, "ms", reported());
    bench.row("one after the other", one_after_other, "ms",
              bench.timed ? about(copying.value + running.value, 0.15, "tE + tT") : reported());
    for (const bool breadth_first : {false, true}) {
        for (const int parts : {2, 4, 8, 16}) {
            unwrap(out.zero());
            const int size = n / parts;
            const auto time = bench.host_ms([&] {
                for (int part = 0; part < parts; ++part) {
                    copy(part, size);
                    if (!breadth_first) run(part, size);
                }
                for (int part = 0; breadth_first && part < parts; ++part)
                    run(part, size);
            });
            bench.expect(out, "every element is right",
                         [&](std::size_t i) { return i == 0 ? first : 16.0F; });
            const double longer = std::max(copying.value, running.value);
            const double shorter = std::min(copying.value, running.value);
            bench.row(std::to_string(parts) +
                          (breadth_first ? " streams, breadth first" : " streams, depth first"),
                      time, "ms",
                      bench.timed ? about(longer + shorter / parts, 0.15, "max + min / streams")
                                  : reported());
        }
    }
    // When each part's copy begins and ends and its kernel ends, in milliseconds from the first.
    constexpr int parts = 4;
    std::vector<lode::Event> marks;
    for (int i = 0; i < parts * 3; ++i)
        marks.push_back(unwrap(bench.device.create_event()));
    unwrap(bench.device.sync());
    for (int part = 0; part < parts; ++part) {
        unwrap(marks[part * 3].record(streams[part]));
        copy(part, n / parts);
        unwrap(marks[part * 3 + 1].record(streams[part]));
        run(part, n / parts);
        unwrap(marks[part * 3 + 2].record(streams[part]));
    }
    unwrap(bench.device.sync());
    constexpr const char* names[] = {"copy begins", "copy ends", "kernel ends"};
    for (int i = 0; bench.timed && i < parts * 3; ++i) {
        bench.row("timeline, part " + std::to_string(i / 3 + 1) + ", " + names[i % 3],
                  double{unwrap(marks[i].elapsed_ms_since(marks[0]))}, "ms", reported());
    }
}

}  // namespace

int main(int argc, char** argv) {
    return experiment::run(argc, argv,
                           "In n parts on n streams a copy and a kernel take max(tE, tT) + "
                           "min(tE, tT) / n instead of tE + tT.",
                           overlap);
}
