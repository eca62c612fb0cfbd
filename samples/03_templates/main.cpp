// Name expressions: instances of a template, a kernel in a namespace and a __constant__ variable,
// all from one compilation and all by their C++ names.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <array>
#include <cstdio>
#include <vector>

namespace {

constexpr int n = 1000;

/// Counts 0, 1, 2, … on the device, multiplied by the template's instance for T.
template <class T>
std::vector<T> scaled(const lode::Device& device, const lode::Library& library, const char* name,
                      T factor) {
    std::vector<T> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<T>(i);
    const auto scale = lode::unwrap(library.kernel<void(T*, T, int)>(name));
    const auto buffer = lode::unwrap(device.upload(values));
    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(scale.launch(stream, lode::cover(n), buffer, factor, n));
    lode::unwrap(stream.sync());
    return lode::unwrap(buffer.to_vector());
}

void templates() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    auto image =
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("templates.cu")),
                                    {.name_expressions = {"scale<float>", "scale<double>",
                                                          "palette::shift", "&palette::offsets"}}));
    for (const auto& [name, symbol] : image.lowered_names)
        std::printf("%-17s is %s\n", name.c_str(), symbol.c_str());
    const auto library = lode::unwrap(device.load(std::move(image)));

    const auto floats = scaled(device, library, "scale<float>", 0.5F);
    const auto doubles = scaled(device, library, "scale<double>", 0.25);
    for (int i = 0; i < n; ++i) {
        sample::check(floats[i] == 0.5F * static_cast<float>(i), "scale<float> halves");
        sample::check(doubles[i] == 0.25 * i, "scale<double> quarters");
    }

    constexpr std::array offsets = {10, 20, 30, 40};
    const auto variable = lode::unwrap(library.global("&palette::offsets"));
    sample::check(variable.size == sizeof offsets, "the variable has four integers");
    lode::unwrap(library.write_global("&palette::offsets", offsets.data(), sizeof offsets));
    const auto shift = lode::unwrap(library.kernel<void(int*, int)>("palette::shift"));
    const auto buffer = lode::unwrap(device.upload(std::vector<int>(n)));
    const auto stream = lode::unwrap(device.create_stream());
    lode::unwrap(shift.launch(stream, lode::cover(n), buffer, n));
    lode::unwrap(stream.sync());
    const auto shifted = lode::unwrap(buffer.to_vector());
    for (int i = 0; i < n; ++i)
        sample::check(shifted[i] == offsets[i % 4], "shift adds the constant offsets");
    std::printf("three kernels and a constant on %s: correct\n", device.name().c_str());
}

}  // namespace

int main() {
    return sample::run(templates);
}
