#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <exception>
#include <vector>

#include <lode_embedded/kernels.hpp>

int main() try {
    using lode::unwrap;  // Result<T> to T, or an exception
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto saxpy = unwrap(device.load<void(float, const float*, float*, int)>(
        lode_embedded::kernels()[0].source(), "saxpy"));

    constexpr int n = 1000;
    const auto x = unwrap(device.upload(std::vector<float>(n, 1.0F)));
    const auto y = unwrap(device.upload(std::vector<float>(n, 2.0F)));
    const auto stream = unwrap(device.create_stream());
    unwrap(saxpy.launch(stream, lode::cover(n), 2.0F, x, y, n));
    unwrap(stream.sync());

    int wrong = 0;
    for (const float value : unwrap(y.to_vector()))
        wrong += value != 4.0F;
    std::printf("saxpy on %s: %d elements, %d wrong\n", device.name().c_str(), n, wrong);
    return wrong == 0 ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
