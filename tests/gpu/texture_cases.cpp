#include "tests/gpu/texture_cases.hpp"

#include <lode/base/unwrap.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

#include <fmt/format.h>

namespace lode::test {
namespace {

/// Elements of `n` halves.
template <std::size_t n>
struct Halves {
    std::array<std::uint16_t, n> bits;
};

}  // namespace
}  // namespace lode::test

template <std::size_t n>
struct lode::ElementFormatOf<lode::test::Halves<n>> {
    static constexpr ElementFormat value{ElementFormat::Kind::floating_point, 16, n};
};

namespace lode::test {
namespace {

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(engine_() % limit);
    }
    bool percent(std::uint32_t chance) { return below(100) < chance; }
    std::uint32_t bits() { return static_cast<std::uint32_t>(engine_() >> 32); }
    /// From 0 to 1, with 24 random bits.
    float fraction() { return static_cast<float>(bits() >> 8) * 0x1p-24F; }

private:
    std::mt19937_64 engine_;
};

std::size_t scalar_bytes(TexelType type) {
    switch (type) {
        case TexelType::u8:
        case TexelType::s8:
            return 1;
        case TexelType::u16:
        case TexelType::s16:
        case TexelType::half:
            return 2;
        default:
            return 4;
    }
}

bool is_real(TexelType type) {
    return type == TexelType::half || type == TexelType::f32;
}
bool is_signed(TexelType type) {
    return type == TexelType::s8 || type == TexelType::s16 || type == TexelType::s32;
}
bool is_cube(TextureShape shape) {
    return shape == TextureShape::cube || shape == TextureShape::cube_layers;
}
bool is_layered(TextureShape shape) {
    return shape == TextureShape::line_layers || shape == TextureShape::plane_layers ||
           shape == TextureShape::cube_layers;
}

/// The extent of a level: layers and faces stay.
ArrayExtent level_extent(const TextureCase& one, unsigned level) {
    ArrayExtent extent = one.extent;
    extent.width = std::max<std::size_t>(extent.width >> level, 1);
    if (extent.height > 0) extent.height = std::max<std::size_t>(extent.height >> level, 1);
    if (one.shape == TextureShape::volume)
        extent.depth = std::max<std::size_t>(extent.depth >> level, 1);
    return extent;
}

float random_value(Random& random) {
    switch (random.below(6)) {
        case 0:
            return static_cast<float>(random.below(16));
        case 1:
            return random.fraction();
        case 2:
            return -random.fraction();
        case 3:
            return std::ldexp(random.fraction(), static_cast<int>(random.below(16)) - 8);
        case 4:
            return -std::ldexp(random.fraction(), static_cast<int>(random.below(12)) - 4);
        default:
            return static_cast<float>(random.below(256)) / 255;
    }
}

/// Finite halves.
std::uint16_t random_half(Random& random) {
    const auto sign = static_cast<std::uint16_t>(random.below(2) << 15);
    const std::uint32_t exponent = random.percent(5) ? 0 : 10 + random.below(10);
    return static_cast<std::uint16_t>(sign | (exponent << 10) | random.below(1024));
}

void fill(std::vector<std::uint8_t>& bytes, TexelType type, Random& random) {
    const std::size_t each = scalar_bytes(type);
    for (std::size_t at = 0; at < bytes.size(); at += each) {
        std::uint32_t bits = random.bits();
        if (type == TexelType::half) bits = random_half(random);
        if (type == TexelType::f32) bits = std::bit_cast<std::uint32_t>(random_value(random));
        std::memcpy(bytes.data() + at, &bits, each);
    }
}

/// A coordinate for an axis of `size` elements, in elements.
float random_coordinate(Random& random, std::size_t size) {
    const auto n = static_cast<float>(size);
    switch (random.below(8)) {
        case 0:
            return static_cast<float>(random.below(static_cast<std::uint32_t>(size) + 1));
        case 1:
            return static_cast<float>(random.below(static_cast<std::uint32_t>(size) * 2)) / 2;
        case 2:
            return static_cast<float>(random.below(static_cast<std::uint32_t>(size) * 512)) / 512;
        case 3:
            return -2 * n * random.fraction();
        case 4:
            return n * (1 + 2 * random.fraction());
        default:
            return n * random.fraction();
    }
}

constexpr const char* source = R"(
struct Place { float x, y, z; int layer; float level; float dx[3], dy[3]; };
extern "C" __global__ void k(cudaTextureObject_t t, const Place* places, TEXEL* out) {
    const Place p = places[threadIdx.x];
    const float2 dx2 = make_float2(p.dx[0], p.dx[1]), dy2 = make_float2(p.dy[0], p.dy[1]);
    const float4 dx3 = make_float4(p.dx[0], p.dx[1], p.dx[2], 0);
    const float4 dy3 = make_float4(p.dy[0], p.dy[1], p.dy[2], 0);
    out[threadIdx.x] = CALL;
}
)";

std::string call_of(const TextureCase& one) {
    const char* const names[] = {"tex1D",
                                 "tex2D",
                                 "tex3D",
                                 "tex1DLayered",
                                 "tex2DLayered",
                                 "texCubemap",
                                 "texCubemapLayered"};
    const char* const at[] = {"p.x",
                              "p.x, p.y",
                              "p.x, p.y, p.z",
                              "p.x, p.layer",
                              "p.x, p.y, p.layer",
                              "p.x, p.y, p.z",
                              "p.x, p.y, p.z, p.layer"};
    const char* const slopes[] = {"p.dx[0], p.dy[0]", "dx2, dy2", "dx3, dy3", "p.dx[0], p.dy[0]",
                                  "dx2, dy2",         "dx3, dy3", "dx3, dy3"};
    const auto shape = static_cast<std::size_t>(one.shape);
    switch (one.call) {
        case TextureCall::fetch:
            return fmt::format("{}<TEXEL>(t, {})", names[shape], at[shape]);
        case TextureCall::level:
            return fmt::format("{}Lod<TEXEL>(t, {}, p.level)", names[shape], at[shape]);
        case TextureCall::slopes:
            return fmt::format("{}Grad<TEXEL>(t, {}, {})", names[shape], at[shape], slopes[shape]);
        case TextureCall::gather:
            break;
    }
    return fmt::format("tex2Dgather<TEXEL>(t, p.x, p.y, {})", one.component);
}

const char* texel_of(const TextureCase& one) {
    if (is_real(one.type) || one.options.normalized_values) return "float4";
    return is_signed(one.type) ? "int4" : "uint4";
}

}  // namespace

TextureCase::TextureCase(std::uint64_t seed) : number(seed) {
    Random random(seed);
    type = static_cast<TexelType>(random.below(8));
    channels = 1U << random.below(3);
    shape = static_cast<TextureShape>(random.below(7));
    const auto extent_of = [&] { return std::size_t{1} + random.below(12); };
    extent = {extent_of(), extent_of(), std::size_t{1} + random.below(5)};
    if (shape == TextureShape::line || shape == TextureShape::line_layers) extent.height = 0;
    if (shape == TextureShape::line || shape == TextureShape::plane) extent.depth = 0;
    if (is_cube(shape)) {
        extent.height = extent.width;
        extent.depth = shape == TextureShape::cube ? 6 : extent.depth * 6;
    }
    const bool is_mipmapped = random.percent(30);
    if (is_mipmapped) {
        std::size_t largest = std::max(extent.width, extent.height);
        if (shape == TextureShape::volume) largest = std::max(largest, extent.depth);
        levels = 1 + random.below(static_cast<std::uint32_t>(std::bit_width(largest)));
    }
    options.normalized_coordinates = is_mipmapped || is_cube(shape) || random.percent(50);
    if (scalar_bytes(type) < 4 && !is_real(type)) options.normalized_values = random.percent(70);
    const bool gives_floats = is_real(type) || options.normalized_values;
    if (gives_floats && random.percent(70)) options.filter = TextureFilter::linear;
    options.srgb =
        type == TexelType::u8 && options.normalized_values && channels == 4 && random.percent(30);
    for (auto& mode : options.address) {
        mode = static_cast<AddressMode>(random.below(4));
        if (!options.normalized_coordinates && mode != AddressMode::border)
            mode = AddressMode::clamp;
    }
    for (auto& value : options.border) {
        value = random.percent(50) ? random.fraction() : random_value(random);
        if (!gives_floats) value = static_cast<float>(random.below(100));
    }
    if (is_mipmapped) {
        if (gives_floats && random.percent(60)) options.mipmap_filter = TextureFilter::linear;
        options.max_mipmap_level = static_cast<float>(levels - 1);
        if (random.percent(30)) options.mipmap_bias = 4 * random.fraction() - 2;
        if (random.percent(20)) options.min_mipmap_level = 2 * random.fraction();
        if (random.percent(20)) options.max_mipmap_level = 3 * random.fraction();
    }
    call = TextureCall::fetch;
    if (shape == TextureShape::plane && !is_mipmapped && random.percent(30)) {
        call = TextureCall::gather;
        component = random.below(channels);
    } else if (random.percent(is_mipmapped ? 60 : 10)) {
        call = TextureCall::level;
    } else if (random.percent(is_mipmapped ? 60 : 5) && !is_cube(shape)) {
        call = TextureCall::slopes;
    }
    std::size_t elements = 0;
    for (unsigned level = 0; level < levels; ++level)
        elements += level_extent(*this, level).volume();
    bytes.resize(elements * channels * scalar_bytes(type));
    fill(bytes, type, random);

    const std::size_t sizes[] = {extent.width, std::max<std::size_t>(extent.height, 1),
                                 std::max<std::size_t>(extent.depth, 1)};
    for (std::size_t i = 0; i < places_count; ++i) {
        TexturePlace place;
        float* const axes[] = {&place.x, &place.y, &place.z};
        for (std::size_t axis = 0; axis < 3; ++axis) {
            *axes[axis] = random_coordinate(random, sizes[axis]);
            if (options.normalized_coordinates) *axes[axis] /= static_cast<float>(sizes[axis]);
            if (is_cube(shape))
                *axes[axis] = random.percent(20) ? static_cast<float>(random.below(3)) - 1
                                                 : 2 * random.fraction() - 1;
        }
        if (is_layered(shape)) place.layer = static_cast<std::int32_t>(random.below(6)) - 1;
        place.level = random.percent(30) ? static_cast<float>(random.below(5)) - 1
                                         : 5 * random.fraction() - 1;
        for (auto* const slopes : {&place.dx, &place.dy}) {
            for (auto& slope : *slopes)
                slope = std::ldexp(2 * random.fraction() - 1, -static_cast<int>(random.below(6)));
        }
        places.push_back(place);
    }
}

std::string TextureCase::category() const {
    const char* const shapes[] = {"line",         "plane", "volume",     "line layers",
                                  "plane layers", "cube",  "cube layers"};
    const char* const calls[] = {"fetch", "level", "slopes", "gather"};
    const char* const types[] = {"u8", "s8", "u16", "s16", "half", "f32", "u32", "s32"};
    std::string text =
        fmt::format("{} {}{} {}{}{}", calls[static_cast<std::size_t>(call)],
                    shapes[static_cast<std::size_t>(shape)], levels > 1 ? " levels" : "",
                    types[static_cast<std::size_t>(type)], options.normalized_values ? " norm" : "",
                    options.srgb ? " srgb" : "");
    if (options.filter == TextureFilter::linear) text += " linear";
    return text;
}

std::string TextureCase::to_string() const {
    return fmt::format(
        "case {}: {}, {} channels, {} x {} x {}, {} levels, {}, address {} {} {}, border {} {} {} "
        "{}, levels {} bias {} from {} to {}",
        number, category(), channels, extent.width, extent.height, extent.depth, levels,
        options.normalized_coordinates ? "normalised" : "in elements",
        static_cast<int>(options.address[0]), static_cast<int>(options.address[1]),
        static_cast<int>(options.address[2]), options.border[0], options.border[1],
        options.border[2], options.border[3], static_cast<int>(options.mipmap_filter),
        options.mipmap_bias, options.min_mipmap_level, options.max_mipmap_level);
}

Texels TextureReader::run(const TextureCase& one, const Texture& texture) {
    const std::string call = call_of(one);
    const std::string name = fmt::format("{} {}", texel_of(one), call);
    auto found = kernels_.find(name);
    if (found == kernels_.end()) {
        KernelOptions options;
        options.compile.definitions = {{"TEXEL", texel_of(one)}, {"CALL", call}};
        auto kernel = unwrap(
            device_
                .load<void(unsigned long long, const TexturePlace*, std::array<std::uint32_t, 4>*)>(
                    Source::text(source, "k.cu"), "k", options));
        found = kernels_.emplace(name, std::move(kernel)).first;
    }
    const auto places = unwrap(device_.upload(one.places));
    const auto texels = unwrap(device_.alloc<std::array<std::uint32_t, 4>>(one.places.size()));
    const auto stream = unwrap(device_.create_stream());
    LaunchShape shape;
    shape.grid = {1, 1, 1};
    shape.block = {static_cast<std::uint32_t>(one.places.size()), 1, 1};
    unwrap(found->second.launch(stream, shape, texture, places, texels));
    unwrap(stream.sync());
    return unwrap(texels.to_vector());
}

template <class T>
Texels TextureReader::read_as(const TextureCase& one) {
    ArrayOptions options;
    if (is_cube(one.shape)) options.shape = ArrayShape::cubemap;
    if (one.shape == TextureShape::cube_layers) options.shape = ArrayShape::layered_cubemap;
    if (is_layered(one.shape) && !is_cube(one.shape)) options.shape = ArrayShape::layered;
    options.gather = one.call == TextureCall::gather;
    const std::span all(reinterpret_cast<const T*>(one.bytes.data()), one.bytes.size() / sizeof(T));
    if (one.levels == 1 && one.options.max_mipmap_level == 0) {
        const auto array = unwrap(Array<T>::create(device_, one.extent, options));
        unwrap(array.copy_from(all));
        return run(one, unwrap(Texture::create(array, one.options)));
    }
    const auto array = unwrap(MipmappedArray<T>::create(device_, one.extent, one.levels, options));
    std::size_t at = 0;
    for (unsigned level = 0; level < one.levels; ++level) {
        const std::size_t count = level_extent(one, level).volume();
        unwrap(unwrap(array.level(level)).copy_from(all.subspan(at, count)));
        at += count;
    }
    return run(one, unwrap(Texture::create(array, one.options)));
}

Texels TextureReader::read(const TextureCase& one) {
    const auto with = [&]<class T>(T) {
        if (one.channels == 1) return read_as<std::array<T, 1>>(one);
        if (one.channels == 2) return read_as<std::array<T, 2>>(one);
        return read_as<std::array<T, 4>>(one);
    };
    switch (one.type) {
        case TexelType::u8:
            return with(std::uint8_t{});
        case TexelType::s8:
            return with(std::int8_t{});
        case TexelType::u16:
            return with(std::uint16_t{});
        case TexelType::s16:
            return with(std::int16_t{});
        case TexelType::half:
            if (one.channels == 1) return read_as<Halves<1>>(one);
            if (one.channels == 2) return read_as<Halves<2>>(one);
            return read_as<Halves<4>>(one);
        case TexelType::u32:
            return with(std::uint32_t{});
        case TexelType::s32:
            return with(std::int32_t{});
        case TexelType::f32:
            break;
    }
    return with(float{});
}

}  // namespace lode::test
