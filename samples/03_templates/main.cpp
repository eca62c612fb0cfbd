// Name expressions: instances of a template, a kernel in a namespace and a __constant__ variable,
// all from one compilation and all by their C++ names.
//
//     cmake -B build && cmake --build build && build/03_templates
//     &palette::offsets is _ZN7palette7offsetsE
//     palette::shift    is _ZN7palette5shiftEPii
//     scale<double>     is _Z5scaleIdEvPT_S0_i
//     scale<float>      is _Z5scaleIfEvPT_S0_i
//     three kernels and a constant on …: correct
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <array>
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

constexpr int n = 1000;

/// Counts 0, 1, 2, … on the device, multiplied by the template's instance for T.
template <class T>
std::vector<T> scaled(const lode::Device& device, const lode::Library& library, const char* name,
                      T factor) {
    std::vector<T> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<T>(i);
    const auto scale = unwrap(library.kernel<void(T*, T, int)>(name));
    const auto buffer = unwrap(device.upload(values));
    const auto stream = unwrap(device.create_stream());
    unwrap(scale.launch(stream, lode::cover(n), buffer, factor, n));
    unwrap(stream.sync());
    return unwrap(buffer.to_vector());
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    auto image =
        unwrap(device.compile(lode_embedded::kernels()[0].source(),
                              {.name_expressions = {"scale<float>", "scale<double>",
                                                    "palette::shift", "&palette::offsets"}}));
    for (const auto& [name, symbol] : image.lowered_names)
        std::printf("%-17s is %s\n", name.c_str(), symbol.c_str());
    const auto library = unwrap(device.load(std::move(image)));

    const auto floats = scaled(device, library, "scale<float>", 0.5F);
    const auto doubles = scaled(device, library, "scale<double>", 0.25);
    for (int i = 0; i < n; ++i) {
        check(floats[i] == 0.5F * static_cast<float>(i), "scale<float> halves");
        check(doubles[i] == 0.25 * i, "scale<double> quarters");
    }

    constexpr std::array offsets = {10, 20, 30, 40};
    const auto variable = unwrap(library.global("&palette::offsets"));
    check(variable.size == sizeof offsets, "the variable has four integers");
    unwrap(library.write_global("&palette::offsets", offsets.data(), sizeof offsets));
    const auto shift = unwrap(library.kernel<void(int*, int)>("palette::shift"));
    const auto buffer = unwrap(device.upload(std::vector<int>(n)));
    const auto stream = unwrap(device.create_stream());
    unwrap(shift.launch(stream, lode::cover(n), buffer, n));
    unwrap(stream.sync());
    const auto shifted = unwrap(buffer.to_vector());
    for (int i = 0; i < n; ++i)
        check(shifted[i] == offsets[i % 4], "shift adds the constant offsets");
    std::printf("three kernels and a constant on %s: correct\n", device.name().c_str());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
