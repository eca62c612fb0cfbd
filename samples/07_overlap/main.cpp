// What pinned memory and streams gain: copies from pageable and from pinned memory, and a copy and
// a kernel in n parts on n streams, beside the estimate of Best Practices Guide 9.1.2.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace {

/// The shortest time in milliseconds of several runs, until the device has finished.
template <class Work>
double best_ms(const lode::Device& device, const Work& work) {
    using Clock = std::chrono::steady_clock;
    auto best = Clock::duration::max();
    for (int run = 0; run < 4; ++run) {
        const auto begin = Clock::now();
        work();
        lode::unwrap(device.sync());
        best = std::min(best, Clock::now() - begin);
    }
    return std::chrono::duration<double, std::milli>(best).count();
}

void overlap() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto scale = lode::unwrap(device.load<void(const float*, float*, float, int, int)>(
        lode::Source::file(sample::kernel_file("scale.cu")), "scale"));

    const int n = runtime.driver().is_emulator() ? 1 << 16 : 1 << 22;
    std::vector<float> pageable(n);
    for (int i = 0; i < n; ++i)
        pageable[i] = static_cast<float>(i % 1000);
    const auto pinned = lode::unwrap(device.alloc_pinned<float>(n));
    std::copy(pageable.begin(), pageable.end(), pinned.begin());
    auto x = lode::unwrap(device.alloc<float>(n));
    auto y = lode::unwrap(device.alloc<float>(n));

    std::vector<lode::Stream> streams;
    for (int i = 0; i < 8; ++i)
        streams.push_back(lode::unwrap(device.create_stream()));
    const auto copy = [&](int part, int size, std::span<const float> from) {
        const auto to = lode::unwrap(x.span().subspan(part * size, size));
        lode::unwrap(to.copy_from_async(streams[part], from.subspan(part * size, size)));
    };
    const auto run = [&](int part, int size) {
        lode::unwrap(scale.launch(streams[part], lode::cover(size), x.data() + part * size,
                                  y.data() + part * size, 0.5F, 200, size));
    };
    std::printf("pageable copy %.3f ms, ", best_ms(device, [&] { copy(0, n, pageable); }));
    const double copying = best_ms(device, [&] { copy(0, n, pinned.span()); });
    const double running = best_ms(device, [&] { run(0, n); });
    std::printf("pinned copy (tT) %.3f ms, kernel (tE) %.3f ms\n", copying, running);
    std::printf("streams  measured ms  max(tE, tT) + min(tE, tT)/n\n");
    for (const int parts : {1, 2, 4, 8}) {
        for (auto* buffer : {&x, &y})
            lode::unwrap(buffer->zero());
        const double time = best_ms(device, [&] {
            for (int part = 0; part < parts; ++part) {
                copy(part, n / parts, pinned.span());
                run(part, n / parts);
            }
        });
        std::printf("%7d  %11.3f  %27.3f\n", parts, time,
                    std::max(copying, running) + std::min(copying, running) / parts);
        const auto result = lode::unwrap(y.to_vector());
        for (int i = 0; i < n; ++i)  // The sum of the series x·aᵏ; with a = 0.5 it is exact.
            sample::check(result[i] == 2 * pageable[i], "every element is scaled");
    }
}

}  // namespace

int main() {
    return sample::run(overlap);
}
