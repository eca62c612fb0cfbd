// Blurs an image through a texture, writes it before and after as PNG files, and compares each
// pixel with a mean on the host. The files go to the folder of the first argument.
//
//     cmake -B build && cmake --build build && build/19_image_filter
//     before.png and after.png are in …; the largest difference is …
#include "png.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

constexpr int width = 320;
constexpr int height = 240;

/// The mean of 5×5 pixels, with the pixels at the edges repeated.
float mean(const std::vector<float>& image, int x, int y) {
    float sum = 0;
    for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx)
            sum +=
                image[std::clamp(y + dy, 0, height - 1) * width + std::clamp(x + dx, 0, width - 1)];
    }
    return sum / 25;
}

}  // namespace

int main(int argc, char** argv) try {
    const std::filesystem::path folder =
        argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    std::vector<float> image(width * height);
    for (int k = 0; k < width * height; ++k) {  // Rings around the centre.
        const int x = k % width - width / 2, y = k / width - height / 2;
        image[k] = (x * x + y * y) / 1000 % 2 == 0 ? 1.0F : 0.0F;
    }
    const auto array = unwrap(lode::Array<float>::create(device, {width, height}));
    unwrap(array.copy_from(image));
    lode::TextureOptions options;
    options.address.fill(lode::AddressMode::clamp);
    const auto texture = unwrap(lode::Texture::create(array, options));

    const auto blur = unwrap(device.load<void(unsigned long long, float*, int, int)>(
        lode_embedded::kernels()[0].source(), "blur"));
    const auto output = unwrap(device.alloc<float>(width * height));
    const auto stream = unwrap(device.create_stream());
    const auto shape = lode::cover({width, height}, {16, 16});
    unwrap(blur.launch(stream, shape, texture, output, width, height));
    unwrap(stream.sync());
    const auto result = unwrap(output.to_vector());

    write_png(folder / "before.png", image, width, height);
    write_png(folder / "after.png", result, width, height);
    float most = 0;
    for (int k = 0; k < width * height; ++k)
        most = std::max(most, std::abs(result[k] - mean(image, k % width, k / width)));
    std::printf("before.png and after.png are in %s; the largest difference is %.2g\n",
                folder.c_str(), most);
    return most < 1e-6F ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
