// Arrays, textures and surfaces through lode, on a GPU or on the software device.
#include "tests/gpu/support.hpp"
#include "tests/support/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

/// o[i] = the texture at the coordinates of thread i.
std::string fetching(const std::string& fetch) {
    return "extern \"C\" __global__ void k(cudaTextureObject_t t, const float4* at, float* o) {\n"
           "    const float4 c = at[threadIdx.x];\n    o[threadIdx.x] = " +
           fetch + ";\n}\n";
}

struct Float4 {
    float x, y, z, w;
};

/// Runs a fetch for each of the coordinates.
std::vector<float> fetched(const Device& device, const Texture& texture, const std::string& fetch,
                           const std::vector<Float4>& at) {
    const auto kernel =
        load<void(unsigned long long, const Float4*, float*)>(device, fetching(fetch));
    const auto from = require(device.upload(at));
    const auto to = require(device.alloc<float>(at.size()));
    const auto stream = require(device.create_stream());
    LaunchShape shape;
    shape.grid = {1, 1, 1};
    shape.block = {static_cast<std::uint32_t>(at.size()), 1, 1};
    require(kernel.launch(stream, shape, texture, from, to));
    require(stream.sync());
    return require(to.to_vector());
}

TextureOptions linear_options() {
    TextureOptions options;
    options.filter = TextureFilter::linear;
    return options;
}

/// The programming guide's formula, with a weight of 8 bits of fraction.
float reference_line(const std::vector<float>& texels, float x) {
    const double from_centre = double{x} - 0.5;
    const double below = std::floor(from_centre);
    const double weight = std::floor((from_centre - below) * 256 + 0.5) / 256;
    const auto texel = [&](double index) {
        const double last = static_cast<double>(texels.size() - 1);
        return double{texels[static_cast<std::size_t>(std::clamp(index, 0.0, last))]};
    };
    return static_cast<float>((1 - weight) * texel(below) + weight * texel(below + 1));
}

}  // namespace

TEST_CASE("array: copies of wholes and boxes, from and to the host and device memory") {
    LODE_NEEDS_DEVICE(device, 0);
    using Pair = std::array<std::uint8_t, 2>;
    const auto array = require(Array<Pair>::create(device, {4, 3}));
    CHECK(array.extent() == ArrayExtent{4, 3, 0});
    std::vector<Pair> values(12);
    for (std::uint8_t k = 0; k < 12; ++k)
        values[k] = {k, static_cast<std::uint8_t>(100 + k)};
    require(array.copy_from(values));
    CHECK(require(array.to_vector()) == values);

    const ArrayBox box{.x = 1, .y = 1, .width = 2, .height = 2};
    std::vector<Pair> part(4);
    require(array.ref().copy_to(part, box));
    CHECK(part == std::vector<Pair>{values[5], values[6], values[9], values[10]});
    auto memory = require(device.upload(std::vector<Pair>(4, Pair{7, 8})));
    require(array.ref().copy_from(DeviceSpan<const Pair>(memory), box));
    CHECK(require(array.to_vector())[10] == Pair{7, 8});
    CHECK(require(array.to_vector())[11] == values[11]);
    const auto stream = require(device.create_stream());
    require(array.ref().copy_from_async(stream, values, array.ref().whole()));
    require(array.ref().copy_to_async(stream, DeviceSpan<Pair>(memory), box));
    require(stream.sync());
    CHECK(require(memory.to_vector())[3] == values[10]);
}

TEST_CASE("array: boxes are copied from and to pitched memory, each in one call") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto array = require(Array<float>::create(device, {6, 5, 4}));
    std::vector<float> values(120);
    std::iota(values.begin(), values.end(), 0.0F);
    require(array.copy_from(values));
    const auto at = [&](std::size_t x, std::size_t y, std::size_t z) {
        return values[(z * 5 + y) * 6 + x];
    };

    auto volume = require(PitchedBuffer<float>::allocate(device, {5, 4, 3}));
    CHECK(volume.pitch() > 5 * sizeof(float));  // Otherwise the rows would be packed.
    require(volume.span().fill(-1));
    // A part of the buffer, so that rows and slices both have gaps.
    const auto part = require(volume.span().box({1, 1, 1}, {3, 2, 2}));
    const ArrayBox box{.x = 2, .y = 3, .z = 1, .width = 3, .height = 2, .depth = 2};
    require(array.ref().copy_to(part, box));
    const auto copied = require(volume.span().to_vector());
    std::vector<float> expected(60, -1.0F);
    for (std::size_t z = 0; z < 2; ++z)
        for (std::size_t y = 0; y < 2; ++y)
            for (std::size_t x = 0; x < 3; ++x)
                expected[((z + 1) * 4 + y + 1) * 5 + x + 1] = at(x + 2, y + 3, z + 1);
    CHECK(copied == expected);

    // And back, to another place, in the order of a stream.
    const ArrayBox elsewhere{.width = 3, .height = 2, .depth = 2};
    const auto stream = require(device.create_stream());
    require(array.ref().copy_from_async(stream, PitchedSpan<const float>(part), elsewhere));
    require(part.zero_async(stream));
    require(array.ref().copy_to_async(stream, part, elsewhere));
    require(stream.sync());
    CHECK(require(volume.span().to_vector()) == expected);
    require(array.ref().copy_from(PitchedSpan<const float>(part), box));
    CHECK(require(array.to_vector())[0] == at(2, 3, 1));
    CHECK(require(array.to_vector())[59] == values[59]);

    const Error other = require_error(
        array.ref().copy_to(part, {.x = 0, .y = 0, .z = 0, .width = 2, .height = 3, .depth = 2}));
    CHECK(other.code == Errc::invalid_argument);
    CHECK_CONTAINS(other.message, "A box of 3 x 2 x 2 elements");
    CHECK(require_error(array.ref().copy_to(PitchedSpan<float>(), box)).code ==
          Errc::invalid_argument);
}

TEST_CASE("array: impossible extents, boxes and sizes are refused with the values") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto refused = [&](const ArrayExtent& extent, const ArrayOptions& options = {}) {
        const Error error = require_error(Array<float>::create(device, extent, options));
        CHECK(error.code == Errc::invalid_argument);
        return error.message;
    };
    CHECK(contains(refused({0}), "its width is 0"));
    CHECK(contains(refused({4, 0, 4}), "only a layered array"));
    CHECK(contains(refused({4, 2, 6}, {.shape = ArrayShape::cubemap}), "square"));
    CHECK(contains(refused({4, 4, 7}, {.shape = ArrayShape::layered_cubemap}), "multiple of 6"));
    CHECK(contains(refused({4, 4, 4}, {.gather = true}), "only a plane"));
    CHECK(contains(refused({1u << 30}), "The width of the array (1073741824) exceeds "));
    const auto array = require(Array<float>::create(device, {4, 4}));
    std::vector<float> values(16);
    CHECK(contains(
        require_error(array.ref().copy_to(values, {.x = 1, .width = 4, .height = 4})).message,
        "exceeds the box of 4 x 4 x 1 elements"));
    values.resize(15);
    CHECK(contains(require_error(array.copy_from(values)).message,
                   "The number of elements (15) isn't that of the box (16)"));
    CHECK(require_error(Array<float>().copy_from(values)).code == Errc::invalid_argument);
    CHECK(require_error(MipmappedArray<float>::create(device, {4, 4}, 4)).code ==
          Errc::invalid_argument);
}

TEST_CASE("texture: linear filtering of a line follows the programming guide") {
    LODE_NEEDS_DEVICE(device, 0);
    const std::vector<float> texels{10, 20, 30, 40};
    const auto array = require(Array<float>::create(device, {4}));
    require(array.copy_from(texels));
    const auto texture = require(Texture::create(array, linear_options()));
    std::vector<Float4> at;
    for (int k = 0; k < 512; ++k)
        at.push_back({static_cast<float>(k) / 100 - 0.5f, 0, 0, 0});
    const auto values = fetched(device, texture, "tex1D<float>(t, c.x)", at);
    int different = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
        const float want = reference_line(texels, at[k].x);
        if (values[k] != want) {
            std::printf("x = %.9g: %.9g on the device, %.9g by the formula\n",
                        static_cast<double>(at[k].x), static_cast<double>(values[k]),
                        static_cast<double>(want));
            ++different;
        }
        // A weight is a multiple of 1/256, and neighbours differ by 10.
        CHECK(std::abs(values[k] - want) <= 10.0f / 256);
    }
    std::printf("linear filtering: %d of %zu values differ from the formula\n", different,
                at.size());
    if (machine()->driver().is_emulator()) CHECK(different == 0);
}

TEST_CASE("texture: a table look-up reaches both ends of its range") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto array = require(Array<float>::create(device, {4}));
    require(array.copy_from(std::vector<float>{10, 20, 30, 40}));
    const auto texture = require(Texture::create(array, linear_options()));
    for (const float range : {4.0f, 1.0f}) {
        const auto look_up = [&](float x) { return Float4{3 / range * x + 0.5f, 0, 0, 0}; };
        CHECK(fetched(device, texture, "tex1D<float>(t, c.x)",
                      {look_up(0), look_up(range / 2), look_up(range)}) ==
              std::vector<float>{10, 25, 40});
    }
}

TEST_CASE("texture: address modes, normalised coordinates and values") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto array = require(Array<std::uint8_t>::create(device, {4}));
    require(array.copy_from(std::vector<std::uint8_t>{0, 51, 102, 255}));
    const auto values = [&](AddressMode mode, float border = 0.5f) {
        TextureOptions options;
        options.address[0] = mode;
        options.normalized_coordinates = true;
        options.normalized_values = true;
        options.border[0] = border;
        return fetched(device, require(Texture::create(array, options)), "tex1D<float>(t, c.x)",
                       {{0.375f, 0, 0, 0}, {1.375f, 0, 0, 0}, {-0.125f, 0, 0, 0}});
    };
    const float one_fifth = 0.2f;
    CHECK(values(AddressMode::wrap) == std::vector<float>{one_fifth, one_fifth, 1});
    CHECK(values(AddressMode::clamp) == std::vector<float>{one_fifth, 1, 0});
    CHECK(values(AddressMode::mirror) == std::vector<float>{one_fifth, 0.4f, 0});
    // The border has the precision of the elements; 0.0021 is 0.5355 of a step.
    for (const auto& row : {std::pair{0.0021f, 0.0f},
                            {0.0038f, 1.0f},
                            {0.3f, 76.0f},
                            {0.5f, 127.0f},
                            {0.998f, 254.0f},
                            {0.999f, 255.0f}}) {
        const auto [border, steps] = row;
        INFO(row.first);
        const float expected = static_cast<float>(steps / 255.0);
        CHECK(values(AddressMode::border, border) ==
              std::vector<float>{one_fifth, expected, expected});
    }
    const auto whole = require(Texture::create(array));
    CHECK(fetched(device, whole, "tex1D<unsigned char>(t, c.x)", {{3.5f, 0, 0, 0}}) ==
          std::vector<float>{255});
}

TEST_CASE("texture: layers, cubes, levels and gathers") {
    LODE_NEEDS_DEVICE(device, 0);
    std::vector<float> six(6);
    std::iota(six.begin(), six.end(), 0.0f);
    const auto layers =
        require(Array<float>::create(device, {2, 1, 3}, {.shape = ArrayShape::layered}));
    require(layers.copy_from(six));
    CHECK(fetched(device, require(Texture::create(layers)),
                  "tex2DLayered<float>(t, c.x, c.y, static_cast<int>(c.z))",
                  {{0.5f, 0.5f, 0, 0}, {1.5f, 0.5f, 2, 0}}) == std::vector<float>{0, 5});
    const auto cube =
        require(Array<float>::create(device, {1, 1, 6}, {.shape = ArrayShape::cubemap}));
    require(cube.copy_from(six));
    TextureOptions normalised;
    normalised.normalized_coordinates = true;
    CHECK(fetched(device, require(Texture::create(cube, normalised)),
                  "texCubemap<float>(t, c.x, c.y, c.z)",
                  {{1, 0.5f, 0, 0},
                   {-1, 0, 0, 0},
                   {0, 2, 1, 0},
                   {0, -1, 0, 0},
                   {0, 0, 1, 0},
                   {0.5f, 0, -1, 0}}) == six);

    const auto levels = require(MipmappedArray<float>::create(device, {4, 4}, 3));
    for (unsigned k = 0; k < 3; ++k) {
        const auto level = require(levels.level(k));
        CHECK(level.extent() == ArrayExtent{4u >> k, 4u >> k, 0});
        require(level.copy_from(
            std::vector<float>(level.extent().volume(), static_cast<float>(k + 1))));
    }
    CHECK(require_error(levels.level(3)).code == Errc::invalid_argument);
    normalised.max_mipmap_level = 2;
    normalised.mipmap_filter = TextureFilter::linear;
    CHECK(fetched(device, require(Texture::create(levels, normalised)),
                  "tex2DLod<float>(t, c.x, c.y, c.z)",
                  {{0.5f, 0.5f, 0, 0}, {0.5f, 0.5f, 0.5f, 0}, {0.5f, 0.5f, 7, 0}}) ==
          std::vector<float>{1, 1.5f, 3});

    const auto plane = require(Array<float>::create(device, {3, 2}, {.gather = true}));
    require(plane.copy_from(six));
    const auto texture = require(Texture::create(plane));
    const std::vector<Float4> centre{{1, 1, 0, 0}};
    CHECK(fetched(device, texture, "tex2Dgather<float4>(t, c.x, c.y, 0).x", centre)[0] == 3);
    CHECK(fetched(device, texture, "tex2Dgather<float4>(t, c.x, c.y, 0).y", centre)[0] == 4);
    CHECK(fetched(device, texture, "tex2Dgather<float4>(t, c.x, c.y, 0).z", centre)[0] == 1);
    CHECK(fetched(device, texture, "tex2Dgather<float4>(t, c.x, c.y, 0).w", centre)[0] == 0);
}

TEST_CASE("texture: linear and pitched memory") {
    LODE_NEEDS_DEVICE(device, 0);
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), 0.0f);
    const auto memory = require(device.upload(values));
    const DeviceSpan<const float> span(memory);
    const auto line = require(Texture::create(device, span));
    CHECK(fetched(device, line, "tex1Dfetch<float>(t, static_cast<int>(c.x))",
                  {{0, 0, 0, 0}, {63, 0, 0, 0}, {64, 0, 0, 0}}) == std::vector<float>{0, 63, 0});
    const auto plane = require(Texture::create_pitched(device, span, 3, 2, 128));
    CHECK(fetched(device, plane, "tex2D<float>(t, c.x, c.y)",
                  {{2.5f, 0.5f, 0, 0}, {2.5f, 1.5f, 0, 0}, {9, 9, 0, 0}}) ==
          std::vector<float>{2, 34, 34});
    CHECK(contains(require_error(Texture::create_pitched(device, span, 3, 2, 36)).message,
                   "isn't a multiple of"));
    CHECK(contains(require_error(Texture::create_pitched(device, span, 3, 3, 128)).message,
                   "don't fit in 256 bytes"));
    CHECK(require_error(Texture::create(device, DeviceSpan<const float>())).code ==
          Errc::invalid_argument);
}

TEST_CASE("texture: impossible textures and empty objects are refused") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto whole = require(Array<std::uint32_t>::create(device, {4}));
    CHECK(
        contains(require_error(Texture::create(whole, linear_options())).message, "linear filter"));
    CHECK(require_error(Texture::create(Array<float>())).code == Errc::invalid_argument);
    CHECK(contains(require_error(Surface::create(whole)).message, "ArrayOptions::surface"));
    TextureOptions options;
    options.max_anisotropy = 17;
    CHECK(contains(require_error(Texture::create(whole, options)).message, "(17)"));
    const auto kernel = load<void(unsigned long long, const Float4*, float*)>(
        device, fetching("tex1D<float>(t, c.x)"));
    const auto stream = require(device.create_stream());
    const auto from = require(device.alloc<Float4>(1));
    const auto to = require(device.alloc<float>(1));
    LaunchShape shape;
    shape.grid = {1, 1, 1};
    shape.block = {1, 1, 1};
    const auto error = require_error(kernel.launch(stream, shape, Texture(), from, to));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(contains(error.message, "The texture at argument 1 of kernel 'k' is empty"));
}

TEST_CASE("surface: a kernel copies one surface to another, and clamps and zeroes outside") {
    LODE_NEEDS_DEVICE(device, 0);
    const ArrayOptions writable{.surface = true};
    const auto from = require(Array<std::uint32_t>::create(device, {4, 2}, writable));
    const auto to = require(Array<std::uint32_t>::create(device, {4, 2}, writable));
    std::vector<std::uint32_t> values(8);
    std::iota(values.begin(), values.end(), 1u);
    require(from.copy_from(values));
    const auto source = require(Surface::create(from));
    const auto target = require(Surface::create(to));
    const auto kernel = load<void(unsigned long long, unsigned long long, unsigned*)>(device, R"(
extern "C" __global__ void k(cudaSurfaceObject_t from, cudaSurfaceObject_t to, unsigned* o) {
    const int x = threadIdx.x * 4, y = threadIdx.y;
    unsigned value;
    surf2Dread(&value, from, x, y);
    surf2Dwrite(value, to, 12 - x, y);
    if (x == 0 && y == 0) {
        o[0] = surf2Dread<unsigned>(from, 16, 0, cudaBoundaryModeClamp);
        o[1] = surf2Dread<unsigned>(from, 16, 0, cudaBoundaryModeZero);
        surf2Dwrite(99u, to, 0, 5, cudaBoundaryModeZero);
    }
})");
    const auto out = require(device.alloc<unsigned>(2));
    const auto stream = require(device.create_stream());
    LaunchShape shape;
    shape.grid = {1, 1, 1};
    shape.block = {4, 2, 1};
    require(kernel.launch(stream, shape, source, target, out));
    require(stream.sync());
    CHECK(require(to.to_vector()) == std::vector<std::uint32_t>{4, 3, 2, 1, 8, 7, 6, 5});
    CHECK(require(out.to_vector()) == std::vector<unsigned>{4, 0});
}
