// Links a kernel of a library with a function that its user wrote: as relocatable code, where the
// kernel calls the function, and as LTO-IR, where the linker inlines it.
//
//     cmake -B build && cmake --build build && build/10_link
//     linked as         registers  ms
//     relocatable code …
//     LTO-IR …
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

/// In an application this is a line that its user typed.
const std::string user_code = R"(
    extern "C" __device__ float user_function(float x) { return 3.0F * x * x - 1.0F; }
)";

lode::Image linked(const lode::Runtime& runtime, const lode::Device& device, bool lto) {
    lode::KernelOptions options;
    (lto ? options.compile.lto : options.compile.relocatable) = true;
    const std::array images{
        unwrap(device.compile(lode_embedded::kernels()[0].source(), options)),
        unwrap(device.compile(lode::Source::text(user_code, "user.cu"), options))};
    const lode::Arch arch = unwrap(device.target()).arch;
    if (!runtime.driver().is_emulator()) return unwrap(lode::Linker().link(images, arch.as_real()));
    // The software device runs PTX, to which LTO-IR can be linked, and links PTX itself.
    if (lto) return unwrap(lode::Linker().link(images, arch.as_virtual()));
    const std::array inputs{unwrap(lode::LinkInput::from_image(images[0])),
                            unwrap(lode::LinkInput::from_image(images[1]))};
    return unwrap(lode::link_with_driver(device, inputs));
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    constexpr int n = 1 << 20;
    std::vector<float> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<float>(i) / n;
    const auto x = unwrap(device.upload(values));
    auto y = unwrap(device.alloc<float>(n));
    const auto stream = unwrap(device.create_stream());

    std::printf("linked as         registers  ms\n");
    for (const bool lto : {false, true}) {
        const auto library = unwrap(device.load(linked(runtime, device, lto)));
        const auto apply = unwrap(library.kernel<void(const float*, float*, int)>("apply"));
        unwrap(y.zero());
        const auto time = unwrap(lode::time_work(
            device, stream, {}, [&] { return apply.launch(stream, lode::cover(n), x, y, n); }));
        std::printf("%-16s  %9d  %.4f\n", lto ? "LTO-IR" : "relocatable code",
                    apply.attributes().registers, time.min_ms);
        const auto result = unwrap(y.to_vector());
        for (int i = 0; i < n; ++i) {  // Contracted to one rounding, like std::fma.
            const float want = std::fma(3.0F * values[i], values[i], -1.0F);
            check(result[i] == want, "every element is 3x²-1");
        }
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
