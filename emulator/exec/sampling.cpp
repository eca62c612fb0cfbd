#include "emulator/exec/sampling.hpp"

#include "emulator/exec/filtering.hpp"
#include "emulator/isa/half.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

namespace lode::emulator::exec {

namespace {

using Edge = Sampler::Edge;

/// Coordinates beyond this are far outside of every image.
constexpr f64 far_away = 0x1p30;
/// A normalised coordinate has 21 bits of fraction.
constexpr f64 coordinate_one = 0x1p21;

f64 within_reach(f64 coordinate) noexcept {
    return std::isnan(coordinate) ? 0 : std::clamp(coordinate, -far_away, far_away);
}

/// The index of a texel after wrapping or clamping; -1 for the border.
i64 resolved(i64 texel, u32 size, Edge edge, bool normalised) noexcept {
    const i64 n = size;
    if (edge == Edge::border) return texel < 0 || texel >= n ? -1 : texel;
    // Wrapping and mirroring need normalised coordinates; otherwise they clamp.
    if (normalised && edge == Edge::wrap) return (texel % n + n) % n;
    if (normalised && edge == Edge::mirror) {
        const i64 in_pair = (texel % (2 * n) + 2 * n) % (2 * n);
        return in_pair < n ? in_pair : 2 * n - 1 - in_pair;
    }
    return std::clamp<i64>(texel, 0, n - 1);
}

f64 compute_linear_of_srgb(u8 code) noexcept {
    constexpr f64 most = 255;
    const f64 value = code / most;
    const f64 linear = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
    // Where an H200's table isn't the nearest value.
    constexpr u8 lower[] = {32, 65, 68, 70, 97, 249, 250, 251};
    constexpr u8 higher[] = {66, 184, 186, 253};
    int exponent = 0;
    (void)std::frexp(linear, &exponent);
    const int unit = std::max(exponent, -6) - 8;
    f64 steps = std::floor(std::ldexp(linear, -unit) + 0.5);
    if (std::ranges::find(lower, code) != std::end(lower)) --steps;
    if (std::ranges::find(higher, code) != std::end(higher)) ++steps;
    return std::ldexp(steps, unit);
}

/// The linear value of an 8-bit sRGB code: eight significant bits, at least a multiple of 2^-14.
f64 linear_of_srgb(u8 code) noexcept {
    static const auto all = [] {
        std::array<f64, 256> values{};
        for (std::size_t k = 0; k < values.size(); ++k)
            values[k] = compute_linear_of_srgb(static_cast<u8>(k));
        return values;
    }();
    return all[code];
}

template <class T>
T component_at(const u8* bytes, u32 index) noexcept {
    T value;
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
}

/// Component `k` as a real number: a float, or an integer scaled to [0, 1] or [-1, 1]. The least
/// signed integer is below -1.
f64 real_component(Component component, const u8* bytes, u32 k) noexcept {
    switch (component) {
        case Component::uint8:
            return component_at<u8>(bytes, k) / 255.0;
        case Component::uint16:
            return component_at<u16>(bytes, k) / 65535.0;
        case Component::int8:
            return component_at<i8>(bytes, k) / 127.0;
        case Component::int16:
            return component_at<i16>(bytes, k) / 32767.0;
        case Component::half:
            return half_to_real(component_at<u16>(bytes, k));
        default:
            return component_at<f32>(bytes, k);
    }
}

/// The half next to a number towards zero.
f64 truncated_to_half(f64 value) noexcept {
    constexpr f64 largest = 65504;
    if (std::abs(value) > largest)
        return std::isfinite(value) ? std::copysign(largest, value) : value;
    int exponent = 0;
    (void)std::frexp(value, &exponent);
    const int unit = std::max(exponent, -13) - 11;
    return std::ldexp(std::trunc(std::ldexp(value, -unit)), unit);
}

/// A border colour as a texel would hold it. Integers are made from a fraction with four bits more
/// than they have; halves are truncated.
f64 border_component(Component component, f64 value) noexcept {
    const auto rounded = [&](f64 least, int bits) {
        const f64 given = std::isnan(value) ? 0 : std::clamp(value, least, 1.0);
        const f64 kept = std::ldexp(std::floor(std::ldexp(std::abs(given), bits + 4)), -bits - 4);
        const f64 most = std::ldexp(1.0, bits) - 1;
        return std::copysign(std::ceil(kept * most - 0.5), given) / most;
    };
    switch (component) {
        case Component::uint8:
            return rounded(0, 8);
        case Component::uint16:
            return rounded(0, 16);
        case Component::int8:
            return rounded(-1, 7);
        case Component::int16:
            return rounded(-1, 15);
        case Component::half:
            return truncated_to_half(value);
        default:
            return value;
    }
}

u32 integer_component(Component component, const u8* bytes, u32 k) noexcept {
    switch (component) {
        case Component::uint8:
            return component_at<u8>(bytes, k);
        case Component::uint16:
            return component_at<u16>(bytes, k);
        case Component::int8:
            return static_cast<u32>(i32{component_at<i8>(bytes, k)});
        case Component::int16:
            return static_cast<u32>(i32{component_at<i16>(bytes, k)});
        default:
            return component_at<u32>(bytes, k);
    }
}

/// One level of an image, with the choice of a layer.
class Reader {
public:
    Reader(const Image& image, std::size_t level, u32 layer) noexcept
        : image_(image), level_(image.levels[level]), layer_(layer) {
        const bool is_real =
            image.component == Component::half || image.component == Component::single;
        as_integers_ =
            !is_real && (image.sampler.integers || image.component == Component::uint32 ||
                         image.component == Component::int32);
    }

    /// Whether texels are integers rather than real numbers.
    [[nodiscard]] bool as_integers() const noexcept { return as_integers_; }
    [[nodiscard]] const ImageLevel& level() const noexcept { return level_; }

    [[nodiscard]] u32 dimensions() const noexcept {
        switch (image_.shape) {
            case ImageShape::line:
            case ImageShape::line_layers:
            case ImageShape::buffer:
                return 1;
            case ImageShape::volume:
                return 3;
            default:
                return 2;
        }
    }

    [[nodiscard]] u32 size(u32 axis) const noexcept {
        return axis == 0 ? level_.width : axis == 1 ? level_.height : level_.depth;
    }

    /// A coordinate in texels, as multiples of 2^-21 where it was normalised.
    [[nodiscard]] f64 scaled(f32 coordinate, u32 axis) const noexcept {
        const f64 given = within_reach(f64{coordinate});
        if (!image_.sampler.normalised) return given;
        return std::floor(given * coordinate_one) / coordinate_one * static_cast<f64>(size(axis));
    }
    [[nodiscard]] i64 nearest_texel(f32 coordinate, u32 axis) const noexcept {
        return static_cast<i64>(std::floor(scaled(coordinate, axis)));
    }
    /// For linear filtering: texel centres are at the halves, and positions are multiples of 1/256.
    [[nodiscard]] AxisPlace place(f32 coordinate, u32 axis) const noexcept {
        return place_of(scaled(coordinate, axis), size(axis), axis);
    }
    /// For a gather, which clamps each of its texels rather than its position.
    [[nodiscard]] std::array<i64, 2> neighbours(f32 coordinate, u32 axis) const noexcept {
        const i64 before = position_of(scaled(coordinate, axis)) >> 8;
        return {at_edge(before, axis), at_edge(before + 1, axis)};
    }
    /// Where a line falls on the axis that it doesn't have.
    [[nodiscard]] AxisPlace place_across() const noexcept { return place_of(0, 1, 1); }

    /// The bytes of a texel; false for the border, which has a negative index.
    bool read(std::array<i64, 3> texel, u8 (&bytes)[16]) const noexcept {
        for (u32 axis = 0; axis < 3; ++axis) {
            if (texel[axis] < 0) return false;
            if (axis >= dimensions()) texel[axis] = 0;
        }
        const u64 slice = dimensions() == 3 ? static_cast<u64>(texel[2]) : layer_;
        const u64 at = level_.address + slice * level_.slice +
                       static_cast<u64>(texel[1]) * level_.pitch +
                       static_cast<u64>(texel[0]) * image_.texel_bytes();
        copy_shared_bytes(bytes, reinterpret_cast<const void*>(at), image_.texel_bytes());
        return true;
    }

    [[nodiscard]] std::array<f64, 4> real_texel(const std::array<i64, 3>& texel) const noexcept {
        std::array<f64, 4> value{};
        u8 bytes[16];
        const bool is_inside = read(texel, bytes);
        for (u32 k = 0; k < 4; ++k) {
            if (!is_inside) {
                if (image_.shape != ImageShape::buffer && k < image_.channels)
                    value[k] = border_component(image_.component, image_.sampler.border[k]);
            } else if (k < image_.channels) {
                value[k] = real_component(image_.component, bytes, k);
                if (image_.sampler.srgb && k < 3) value[k] = linear_of_srgb(bytes[k]);
            }
        }
        return value;
    }

    [[nodiscard]] Texel integer_texel(const std::array<i64, 3>& texel) const noexcept {
        Texel value{};
        u8 bytes[16];
        const bool is_inside = read(texel, bytes);
        for (u32 k = 0; k < 4; ++k) {
            if (is_inside && k < image_.channels) {
                value[k] = integer_component(image_.component, bytes, k);
            } else if (!is_inside && image_.shape != ImageShape::buffer && k < image_.channels) {
                // The driver keeps the bits of the colour, whatever type the texels have.
                const u32 bits = bits_of(static_cast<f32>(image_.sampler.border[k]));
                u8 colour[16];
                std::memcpy(colour, &bits, sizeof(bits));
                value[k] = integer_component(image_.component, colour, 0);
            }
        }
        return value;
    }

    /// Decoded sRGB colours are halves.
    [[nodiscard]] Component filtered_as(u32 channel) const noexcept {
        return image_.sampler.srgb && channel < 3 ? Component::half : image_.component;
    }

    /// Adds the texels that a fetch reads from this level, with weights whose sum is `share`.
    void add_texels(const Fetch& fetch, i64 share, WeightedTexels& to) const noexcept {
        const Sampler& sampler = image_.sampler;
        if (!sampler.linear || fetch.is_whole || image_.shape == ImageShape::buffer)
            return to.add(share, real_texel(nearest(fetch)));
        // A single line has rows like a plane, where it matters for the border.
        const u32 axes = std::max(dimensions(), 2U);
        std::array<AxisPlace, 3> places;
        for (u32 axis = 0; axis < axes; ++axis) {
            if (axis < dimensions())
                places[axis] = place(fetch.at[axis], axis);
            else if (image_.shape == ImageShape::line)
                places[axis] = place_across();
        }
        const std::array<i64, 8> weights = corner_weights(places, share);
        for (u32 corner = 0; corner < (1U << axes); ++corner) {
            std::array<i64, 3> texel{};
            for (u32 axis = 0; axis < axes; ++axis) {
                texel[axis] =
                    ((corner >> axis) & 1) != 0 ? places[axis].after : places[axis].before;
            }
            to.add(weights[corner], real_texel(texel));
        }
    }
    [[nodiscard]] Texel mean(const WeightedTexels& texels) const noexcept {
        Texel made{};
        for (u32 k = 0; k < image_.channels; ++k)
            made[k] = bits_of(static_cast<f32>(texels.mean(filtered_as(k), k)));
        return made;
    }

    [[nodiscard]] std::array<i64, 3> nearest(const Fetch& fetch) const noexcept {
        std::array<i64, 3> texel{};
        for (u32 axis = 0; axis < dimensions(); ++axis) {
            texel[axis] = at_edge(
                fetch.is_whole ? fetch.whole[axis] : nearest_texel(fetch.at[axis], axis), axis);
        }
        return texel;
    }
    /// The index of a texel after wrapping or clamping; -1 for the border.
    [[nodiscard]] i64 at_edge(i64 texel, u32 axis) const noexcept {
        return resolved(texel, size(axis), edge(axis), image_.sampler.normalised);
    }

private:
    [[nodiscard]] Edge edge(u32 axis) const noexcept {
        return image_.shape == ImageShape::buffer ? Edge::border : image_.sampler.edges[axis];
    }
    /// In 1/256 of a texel, rounded to the nearest; a centre is half a texel from its beginning.
    [[nodiscard]] static i64 position_of(f64 at) noexcept {
        return static_cast<i64>(std::floor(at * weight_one - 127.5));
    }
    [[nodiscard]] AxisPlace place_of(f64 at, u32 size, u32 axis) const noexcept {
        const bool normalised = image_.sampler.normalised;
        const bool clamps =
            edge(axis) == Edge::clamp || (!normalised && edge(axis) != Edge::border);
        const i64 last = (i64{size} - 1) * weight_one;
        i64 position = position_of(at);
        if (clamps) position = std::clamp<i64>(position, 0, last);
        if (edge(axis) == Edge::border)
            position = std::clamp<i64>(position, -2 * weight_one, last + 2 * weight_one);
        const i64 before = position >> 8;
        return {resolved(before, size, edge(axis), normalised),
                resolved(before + 1, size, edge(axis), normalised),
                static_cast<u32>(position & (weight_one - 1))};
    }

    const Image& image_;
    const ImageLevel& level_;
    u32 layer_;
    bool as_integers_;
};

/// The face of a cube that a direction hits, with its coordinates from 0 to 1 (programming guide,
/// "Cubemap Textures"). Where two coordinates are equally large, z precedes y, and y precedes x.
struct FacePoint {
    u32 face = 0;
    f32 s = 0, t = 0;
};
FacePoint face_of(const std::array<f32, 3>& at) noexcept {
    const auto [x, y, z] = at;
    const f32 ax = std::fabs(x);
    const f32 ay = std::fabs(y);
    const f32 az = std::fabs(z);
    f32 most = 0;
    FacePoint point;
    if (az >= ax && az >= ay) {
        most = az;
        point = std::signbit(z) ? FacePoint{5, -x, -y} : FacePoint{4, x, -y};
    } else if (ay >= ax) {
        most = ay;
        point = std::signbit(y) ? FacePoint{3, x, -z} : FacePoint{2, x, z};
    } else {
        most = ax;
        point = std::signbit(x) ? FacePoint{1, z, -y} : FacePoint{0, -z, -y};
    }
    if (most == 0) return {point.face, 0.5f, 0.5f};
    point.s = (point.s / most + 1) / 2;
    point.t = (point.t / most + 1) / 2;
    return point;
}

/// The level of detail that a request selects, before its limits apply.
f64 level_of(const Image& image, const Fetch& fetch) noexcept {
    if (fetch.has_level) return fetch.level;
    if (!fetch.has_slopes) return 0;
    const ImageLevel& level = image.levels.front();
    const u32 sizes[] = {level.width, level.height, level.depth};
    f64 squares[2] = {};
    for (u32 axis = 0; axis < 3; ++axis) {
        const f64 scale = image.sampler.normalised ? sizes[axis] : 1;
        squares[0] += fetch.dx[axis] * scale * fetch.dx[axis] * scale;
        squares[1] += fetch.dy[axis] * scale * fetch.dy[axis] * scale;
    }
    const f64 most = std::max(squares[0], squares[1]);
    return most > 0 ? std::log2(most) / 2 : -far_away;
}

/// The layer of a request within the image.
u32 layer_of(const Image& image, u32 layer, u32 face) noexcept {
    const u32 depth = image.levels.front().depth;
    switch (image.shape) {
        case ImageShape::line_layers:
        case ImageShape::plane_layers:
            return std::min(layer, depth - 1);
        case ImageShape::cube:
            return face;
        case ImageShape::cube_layers:
            return std::min(layer, depth / 6 - 1) * 6 + face;
        default:
            return 0;
    }
}

Texel texel_of(const Image& image, const std::array<f64, 4>& value) noexcept {
    const bool is_signed =
        image.component == Component::int8 || image.component == Component::int16;
    Texel made{};
    for (u32 k = 0; k < 4; ++k)
        made[k] = bits_of(static_cast<f32>(is_signed ? std::max(value[k], -1.0) : value[k]));
    return made;
}

/// A level of detail in 1/256.
i64 whole_steps(f64 level) noexcept {
    return static_cast<i64>(std::floor(within_reach(level) * weight_one));
}

}  // namespace

Texel sample(const Image& image, const Fetch& given) noexcept {
    Fetch fetch = given;
    u32 face = 0;
    if (image.shape == ImageShape::cube || image.shape == ImageShape::cube_layers) {
        const FacePoint point = face_of(fetch.at);
        face = point.face;
        fetch.at = {point.s, point.t, 0};
    }
    const u32 layer = layer_of(image, fetch.layer, face);
    const auto last = static_cast<i64>(image.levels.size() - 1);
    const Sampler& sampler = image.sampler;
    i64 level = 0;
    if (last > 0) {
        // Without a level and slopes it is level 0, whatever the bias.
        if (fetch.has_level || fetch.has_slopes)
            level = whole_steps(level_of(image, fetch)) + whole_steps(sampler.bias);
        level = std::max(whole_steps(sampler.least_level),
                         std::min(level, whole_steps(sampler.most_level)));
        level = std::clamp<i64>(level, 0, last * weight_one);
    }
    const bool blends = sampler.linear_levels && last > 0;
    const auto first =
        static_cast<std::size_t>((blends ? level : level + weight_one / 2) / weight_one);
    const Reader reader(image, first, layer);
    if (reader.as_integers()) return reader.integer_texel(reader.nearest(fetch));
    const i64 weight = blends ? level % weight_one : 0;
    if (!blends && !sampler.linear)
        return texel_of(image, reader.real_texel(reader.nearest(fetch)));
    WeightedTexels texels;
    reader.add_texels(fetch, weight_one - weight, texels);
    if (weight != 0) Reader(image, first + 1, layer).add_texels(fetch, weight, texels);
    return reader.mean(texels);
}

Texel gather(const Image& image, const Fetch& fetch, u32 component) noexcept {
    const Reader reader(image, 0, 0);
    std::array<std::array<i64, 2>, 2> texels{};
    for (u32 axis = 0; axis < 2; ++axis)
        texels[axis] = reader.neighbours(fetch.at[axis], axis);
    constexpr u32 order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel made{};
    for (u32 k = 0; k < 4; ++k) {
        const std::array<i64, 3> texel{texels[0][order[k][0]], texels[1][order[k][1]], 0};
        if (reader.as_integers()) {
            made[k] = reader.integer_texel(texel)[component];
        } else {
            WeightedTexels one;
            one.add(weight_one, reader.real_texel(texel));
            made[k] = reader.mean(one)[component];
        }
    }
    return made;
}

}  // namespace lode::emulator::exec
