// Links a kernel of a library with a function that its user wrote: as relocatable code, where the
// kernel calls the function, and as LTO-IR, where the linker inlines it.
#include "samples/support/sample.hpp"

#include <lode/lode.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

/// In an application this is a line that its user typed.
const std::string user_code = R"(
    extern "C" __device__ float user_function(float x) { return 3.0F * x * x - 1.0F; }
)";

lode::Image linked(const lode::Runtime& runtime, const lode::Device& device, bool lto) {
    lode::KernelOptions options;
    (lto ? options.compile.lto : options.compile.relocatable) = true;
    const std::array images{
        lode::unwrap(device.compile(lode::Source::file(sample::kernel_file("apply.cu")), options)),
        lode::unwrap(device.compile(lode::Source::text(user_code, "user.cu"), options))};
    const lode::Arch arch = lode::unwrap(device.target()).arch;
    if (!runtime.driver().is_emulator())
        return lode::unwrap(lode::Linker().link(images, arch.as_real()));
    // The software device runs PTX, to which LTO-IR can be linked, and links PTX itself.
    if (lto) return lode::unwrap(lode::Linker().link(images, arch.as_virtual()));
    const std::array inputs{lode::unwrap(lode::LinkInput::from_image(images[0])),
                            lode::unwrap(lode::LinkInput::from_image(images[1]))};
    return lode::unwrap(lode::link_with_driver(device, inputs));
}

void compare() {
    const auto runtime = sample::open_runtime();
    const auto device = lode::unwrap(runtime.device());
    constexpr int n = 1 << 20;
    std::vector<float> values(n);
    for (int i = 0; i < n; ++i)
        values[i] = static_cast<float>(i) / n;
    const auto x = lode::unwrap(device.upload(values));
    auto y = lode::unwrap(device.alloc<float>(n));
    const auto stream = lode::unwrap(device.create_stream());

    std::printf("linked as         registers  ms\n");
    for (const bool lto : {false, true}) {
        const auto library = lode::unwrap(device.load(linked(runtime, device, lto)));
        const auto apply = lode::unwrap(library.kernel<void(const float*, float*, int)>("apply"));
        lode::unwrap(y.zero());
        const auto time = lode::unwrap(lode::time_work(
            device, stream, {}, [&] { return apply.launch(stream, lode::cover(n), x, y, n); }));
        std::printf("%-16s  %9d  %.4f\n", lto ? "LTO-IR" : "relocatable code",
                    apply.attributes().registers, time.min_ms);
        const auto result = lode::unwrap(y.to_vector());
        for (int i = 0; i < n; ++i) {  // Contracted to one rounding, like std::fma.
            const float want = std::fma(3.0F * values[i], values[i], -1.0F);
            sample::check(result[i] == want, "every element is 3x²-1");
        }
    }
}

}  // namespace

int main() {
    return sample::run(compare);
}
