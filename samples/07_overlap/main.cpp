// What pinned memory and streams gain: copies from pageable and from pinned memory, and a copy and
// a kernel in n parts on n streams, beside the estimate of Best Practices Guide 9.1.2.
//
//     cmake -B build && cmake --build build && build/07_overlap
//     pageable copy … ms, pinned copy (tT) … ms, kernel (tE) … ms
//     streams  measured ms  max(tE, tT) + min(tE, tT)/n
//           1        …
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <chrono>
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

/// The shortest time in milliseconds of several runs, until the device has finished.
template <class Work>
double best_ms(const lode::Device& device, const Work& work) {
    using Clock = std::chrono::steady_clock;
    auto best = Clock::duration::max();
    for (int run = 0; run < 4; ++run) {
        const auto begin = Clock::now();
        work();
        unwrap(device.sync());
        best = std::min(best, Clock::now() - begin);
    }
    return std::chrono::duration<double, std::milli>(best).count();
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto scale = unwrap(device.load<void(const float*, float*, float, int, int)>(
        lode_embedded::kernels()[0].source(), "scale"));

    const int n = runtime.driver().is_emulator() ? 1 << 16 : 1 << 22;
    std::vector<float> pageable(n);
    for (int i = 0; i < n; ++i)
        pageable[i] = static_cast<float>(i % 1000);
    const auto pinned = unwrap(device.alloc_pinned<float>(n));
    std::copy(pageable.begin(), pageable.end(), pinned.begin());
    auto x = unwrap(device.alloc<float>(n));
    auto y = unwrap(device.alloc<float>(n));

    std::vector<lode::Stream> streams;
    for (int i = 0; i < 8; ++i)
        streams.push_back(unwrap(device.create_stream()));
    const auto copy = [&](int part, int size, std::span<const float> from) {
        const auto to = unwrap(x.span().subspan(part * size, size));
        unwrap(to.copy_from_async(streams[part], from.subspan(part * size, size)));
    };
    const auto run = [&](int part, int size) {
        unwrap(scale.launch(streams[part], lode::cover(size), x.data() + part * size,
                            y.data() + part * size, 0.5F, 200, size));
    };
    std::printf("pageable copy %.3f ms, ", best_ms(device, [&] { copy(0, n, pageable); }));
    const double copying = best_ms(device, [&] { copy(0, n, pinned.span()); });
    const double running = best_ms(device, [&] { run(0, n); });
    std::printf("pinned copy (tT) %.3f ms, kernel (tE) %.3f ms\n", copying, running);
    std::printf("streams  measured ms  max(tE, tT) + min(tE, tT)/n\n");
    for (const int parts : {1, 2, 4, 8}) {
        for (auto* buffer : {&x, &y})
            unwrap(buffer->zero());
        const double time = best_ms(device, [&] {
            for (int part = 0; part < parts; ++part) {
                copy(part, n / parts, pinned.span());
                run(part, n / parts);
            }
        });
        std::printf("%7d  %11.3f  %27.3f\n", parts, time,
                    std::max(copying, running) + std::min(copying, running) / parts);
        const auto result = unwrap(y.to_vector());
        for (int i = 0; i < n; ++i)  // The sum of the series x·aᵏ; with a = 0.5 it is exact.
            check(result[i] == 2 * pageable[i], "every element is scaled");
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
