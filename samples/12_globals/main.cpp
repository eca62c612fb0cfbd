// Variables of a kernel file as typed spans: writes the coefficients of a polynomial to constant
// memory, in the order of a stream, and reads a counter.
//
//     cmake -B build && cmake --build build && build/12_globals
//     0+1x+0x²-0.125x³ is negative for 50000 of 100000 values
//     -0.25+0.5x+2x²+1x³ is negative for 74060 of 100000 values
//     five coefficients: The variable 'coefficients' has 4 elements of 4 bytes, not 5.
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <array>
#include <cmath>
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

constexpr int n = 100'000;
constexpr int terms = 4;

float polynomial(const std::array<float, terms>& coefficients, float x) {
    float value = coefficients[terms - 1];
    for (int power = terms - 2; power >= 0; --power)
        value = std::fma(value, x, coefficients[power]);
    return value;
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto library =
        unwrap(device.load(unwrap(device.compile(lode_embedded::kernels()[0].source()))));
    const auto kernel = unwrap(library.kernel<void(const float*, float*, int)>("polynomial"));
    const auto coefficients = unwrap(library.global<float>("coefficients", terms));
    const auto negatives = unwrap(library.global<unsigned long long>("negatives", 1));

    std::vector<float> x(n);
    for (int i = 0; i < n; ++i)
        x[i] = static_cast<float>(i - n / 2) / n;
    const auto device_x = unwrap(device.upload(x));
    const auto device_y = unwrap(device.alloc<float>(n));
    const auto stream = unwrap(device.create_stream());

    constexpr std::array<std::array<float, terms>, 2> polynomials{
        {{0, 1, 0, -0.125F}, {-0.25F, 0.5F, 2, 1}}};
    for (const auto& values : polynomials) {
        unwrap(coefficients.copy_from_async(stream, values));
        unwrap(negatives.zero_async(stream));
        unwrap(kernel.launch(stream, lode::cover(n), device_x, device_y, n));
        unwrap(stream.sync());

        const auto y = unwrap(device_y.to_vector());
        unsigned long long below = 0;
        for (int i = 0; i < n; ++i) {
            const float want = polynomial(values, x[i]);
            check(y[i] == want, "every value is that of the polynomial");
            below += want < 0;
        }
        const auto counted = unwrap(negatives.to_vector()).front();
        std::printf("%g%+gx%+gx²%+gx³ is negative for %llu of %d values\n", values[0], values[1],
                    values[2], values[3], counted, n);
        check(counted == below, "the counter is right");
    }

    const auto wrong = library.global<float>("coefficients", terms + 1);
    check(!wrong, "a wrong number of elements is refused");
    std::printf("five coefficients: %s\n", wrong.error().message.c_str());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
