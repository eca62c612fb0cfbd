// Rotates an image by 30 degrees through a texture with linear filtering, and compares each pixel
// with an interpolation on the host.
//
//     cmake -B build && cmake --build build && build/09_texture
//     rotation on …: the largest difference is 0.00…
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

namespace {

constexpr int width = 96;
constexpr int height = 64;

/// The pixel at whole coordinates, which wrap around.
float pixel(const std::vector<float>& image, int x, int y) {
    return image[((y % height + height) % height) * width + (x % width + width) % width];
}

/// Interpolates like the texture: u and v from 0 to 1, pixels' centres at the halves.
float interpolated(const std::vector<float>& image, float u, float v) {
    const float x = u * width - 0.5F;
    const float y = v * height - 0.5F;
    const int i = static_cast<int>(std::floor(x));
    const int j = static_cast<int>(std::floor(y));
    const float a = x - static_cast<float>(i);
    const float b = y - static_cast<float>(j);
    return (1 - a) * (1 - b) * pixel(image, i, j) + a * (1 - b) * pixel(image, i + 1, j) +
           (1 - a) * b * pixel(image, i, j + 1) + a * b * pixel(image, i + 1, j + 1);
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    std::vector<float> image(width * height);
    for (int k = 0; k < width * height; ++k)
        image[k] = static_cast<float>((k % width / 16 + k / width / 16) % 2);  // A chessboard.

    const auto array = unwrap(lode::Array<float>::create(device, {width, height}));
    unwrap(array.copy_from(image));
    lode::TextureOptions options;
    options.address.fill(lode::AddressMode::wrap);
    options.filter = lode::TextureFilter::linear;
    options.normalized_coordinates = true;
    const auto texture = unwrap(lode::Texture::create(array, options));

    const auto rotate =
        unwrap(device.load<void(unsigned long long, float*, int, int, float, float)>(
            lode_embedded::kernels()[0].source(), "rotate"));
    const auto output = unwrap(device.alloc<float>(width * height));
    const auto stream = unwrap(device.create_stream());
    const float sine = 0.5F, cosine = std::sqrt(0.75F);
    const auto shape = lode::cover({width, height}, {16, 16});
    unwrap(rotate.launch(stream, shape, texture, output, width, height, sine, cosine));
    unwrap(stream.sync());

    // The texture's weights have 8 bits of fraction.
    float most = 0;
    const auto result = unwrap(output.to_vector());
    for (int k = 0; k < width * height; ++k) {
        const float u = static_cast<float>(k % width) / width - 0.5F;
        const float v = static_cast<float>(k / width) / height - 0.5F;
        const float want =
            interpolated(image, u * cosine - v * sine + 0.5F, v * cosine + u * sine + 0.5F);
        most = std::max(most, std::abs(result[k] - want));
    }
    std::printf("rotation on %s: the largest difference is %.4f\n", device.name().c_str(), most);
    return most <= 2.0F / 256 ? 0 : 1;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
