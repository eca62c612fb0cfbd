// Variables of a kernel file as typed spans: writes the coefficients of a polynomial to constant
// memory, in the order of a stream, and reads a counter.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

constexpr int n = 100'000;
constexpr int terms = 4;

float polynomial(const std::array<float, terms>& coefficients, float x) {
    float value = coefficients[terms - 1];
    for (int power = terms - 2; power >= 0; --power)
        value = std::fma(value, x, coefficients[power]);
    return value;
}

void globals() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    const auto library = lode::unwrap(device.load(
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("polynomial.cu"))))));
    const auto kernel = lode::unwrap(library.kernel<void(const float*, float*, int)>("polynomial"));
    const auto coefficients = lode::unwrap(library.global<float>("coefficients", terms));
    const auto negatives = lode::unwrap(library.global<unsigned long long>("negatives", 1));

    std::vector<float> x(n);
    for (int i = 0; i < n; ++i)
        x[i] = static_cast<float>(i - n / 2) / n;
    const auto device_x = lode::unwrap(device.upload(x));
    const auto device_y = lode::unwrap(device.alloc<float>(n));
    const auto stream = lode::unwrap(device.create_stream());

    constexpr std::array<std::array<float, terms>, 2> polynomials{
        {{0, 1, 0, -0.125F}, {-0.25F, 0.5F, 2, 1}}};
    for (const auto& values : polynomials) {
        lode::unwrap(coefficients.copy_from_async(stream, values));
        lode::unwrap(negatives.zero_async(stream));
        lode::unwrap(kernel.launch(stream, lode::cover(n), device_x, device_y, n));
        lode::unwrap(stream.sync());

        const auto y = lode::unwrap(device_y.to_vector());
        unsigned long long below = 0;
        for (int i = 0; i < n; ++i) {
            const float want = polynomial(values, x[i]);
            sample::check(y[i] == want, "every value is that of the polynomial");
            below += want < 0;
        }
        const auto counted = lode::unwrap(negatives.to_vector()).front();
        std::printf("%g%+gx%+gx²%+gx³ is negative for %llu of %d values\n", values[0], values[1],
                    values[2], values[3], counted, n);
        sample::check(counted == below, "the counter is right");
    }

    const auto wrong = library.global<float>("coefficients", terms + 1);
    sample::check(!wrong, "a wrong number of elements is refused");
    std::printf("five coefficients: %s\n", wrong.error().message.c_str());
}

}  // namespace

int main() {
    return sample::run(globals);
}
