#include "emulator/exec/sampling.hpp"

#include "emulator/decode/ops/half.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lode::emulator::exec {

namespace {

using Edge = Sampler::Edge;

/// Where one coordinate falls on an axis: the texel before it, and the weight of the one after it
/// in 1/256 (programming guide, "Texture Fetching": 9 bits with 8 bits of fraction).
struct Place {
    i64 texel = 0;
    u32 weight = 0;
};
constexpr f64 weight_one = 256;

/// Coordinates beyond this are far outside of every image.
constexpr f64 far_away = 0x1p40;

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

f64 linear_of_srgb(f64 value) noexcept {
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

template <class T>
T component_at(const u8* bytes, u32 index) noexcept {
    T value;
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
}

/// Signed formats have two codes for -1.
f64 signed_fraction(i32 value, i32 most) noexcept {
    return std::max(-1.0, static_cast<f64>(value) / most);
}

/// Component `k` as a real number: a float, or an integer scaled to [0, 1] or [-1, 1].
f64 real_component(Component component, const u8* bytes, u32 k) noexcept {
    switch (component) {
        case Component::uint8:
            return component_at<u8>(bytes, k) / 255.0;
        case Component::uint16:
            return component_at<u16>(bytes, k) / 65535.0;
        case Component::int8:
            return signed_fraction(component_at<i8>(bytes, k), 127);
        case Component::int16:
            return signed_fraction(component_at<i16>(bytes, k), 32767);
        case Component::half:
            return half_to_real(component_at<u16>(bytes, k));
        default:
            return component_at<f32>(bytes, k);
    }
}

/// A border colour as an integer texel would hold it. An H200 rounds up from 9/16 of a step on,
/// for 8 and 16 bits, with and without sign.
f64 border_component(Component component, f64 value) noexcept {
    const auto rounded = [&](f64 least, f64 steps) {
        constexpr f64 parts = 16;
        const f64 given = std::isnan(value) ? 0 : std::clamp(value, least, 1.0);
        const f64 kept = std::floor(std::abs(given) * steps * parts) / parts;
        return std::copysign(std::ceil(kept - 0.5), given) / steps;
    };
    switch (component) {
        case Component::uint8:
            return rounded(0, 255);
        case Component::uint16:
            return rounded(0, 65535);
        case Component::int8:
            return rounded(-1, 127);
        case Component::int16:
            return rounded(-1, 32767);
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

bool is_32_bit_integer(Component component) noexcept {
    return component == Component::uint32 || component == Component::int32;
}

/// One level of an image, with the choice of a layer.
class Reader {
public:
    Reader(const Image& image, std::size_t level, u32 layer) noexcept
        : image_(image), level_(image.levels[level]), layer_(layer) {
        const bool is_real =
            image.component == Component::half || image.component == Component::single;
        as_integers_ = !is_real && (image.sampler.integers || is_32_bit_integer(image.component));
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

    /// Splits a coordinate; for linear filtering, texel centres are at the halves.
    [[nodiscard]] Place place(f32 coordinate, u32 axis, bool linear) const noexcept {
        const f64 scaled =
            within_reach(image_.sampler.normalised ? f64{coordinate} * static_cast<f64>(size(axis))
                                                   : f64{coordinate});
        if (!linear) return {static_cast<i64>(std::floor(scaled)), 0};
        const f64 from_centre = scaled - 0.5;
        const f64 below = std::floor(from_centre);
        const f64 weight = std::floor((from_centre - below) * weight_one + 0.5);
        return {static_cast<i64>(below), static_cast<u32>(weight)};
    }

    /// The bytes of a texel; false for the border.
    bool read(std::array<i64, 3> texel, u8 (&bytes)[16]) const noexcept {
        for (u32 axis = 0; axis < 3; ++axis) {
            if (axis >= dimensions()) {
                texel[axis] = 0;
                continue;
            }
            const Edge edge =
                image_.shape == ImageShape::buffer ? Edge::border : image_.sampler.edges[axis];
            texel[axis] = resolved(texel[axis], size(axis), edge, image_.sampler.normalised);
            if (texel[axis] < 0) return false;
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
                value[k] = image_.shape == ImageShape::buffer
                               ? 0
                               : border_component(image_.component, image_.sampler.border[k]);
            } else if (k < image_.channels) {
                value[k] = real_component(image_.component, bytes, k);
                if (image_.sampler.srgb && k < 3) value[k] = linear_of_srgb(value[k]);
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
            } else if (!is_inside && image_.shape != ImageShape::buffer) {
                value[k] =
                    static_cast<u32>(static_cast<i64>(within_reach(image_.sampler.border[k])));
            }
        }
        return value;
    }

    /// The weighted sum of the neighbours on each axis. Weights are exact, and the sum is rounded
    /// only when it becomes a float.
    [[nodiscard]] std::array<f64, 4> filtered(const Fetch& fetch) const noexcept {
        std::array<Place, 3> places;
        const u32 axes = dimensions();
        for (u32 axis = 0; axis < axes; ++axis)
            places[axis] = place(fetch.at[axis], axis, true);
        std::array<f64, 4> sum{};
        for (u32 corner = 0; corner < (1u << axes); ++corner) {
            f64 weight = 1;
            std::array<i64, 3> texel{};
            for (u32 axis = 0; axis < axes; ++axis) {
                const bool after = ((corner >> axis) & 1) != 0;
                const f64 fraction = places[axis].weight / weight_one;
                weight *= after ? fraction : 1 - fraction;
                texel[axis] = places[axis].texel + (after ? 1 : 0);
            }
            if (weight == 0) continue;
            const std::array<f64, 4> value = real_texel(texel);
            for (u32 k = 0; k < 4; ++k)
                sum[k] += weight * value[k];
        }
        return sum;
    }

    [[nodiscard]] std::array<i64, 3> nearest(const Fetch& fetch) const noexcept {
        std::array<i64, 3> texel{};
        for (u32 axis = 0; axis < dimensions(); ++axis) {
            texel[axis] =
                fetch.is_whole ? fetch.whole[axis] : place(fetch.at[axis], axis, false).texel;
        }
        return texel;
    }

private:
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

Texel texel_of(const std::array<f64, 4>& value) noexcept {
    Texel made{};
    for (u32 k = 0; k < 4; ++k)
        made[k] = bits_of(static_cast<f32>(value[k]));
    return made;
}

std::array<f64, 4> real_sample(const Image& image, const Fetch& fetch, std::size_t level,
                               u32 layer) noexcept {
    const Reader reader(image, level, layer);
    const bool filters =
        image.sampler.linear && !fetch.is_whole && image.shape != ImageShape::buffer;
    return filters ? reader.filtered(fetch) : reader.real_texel(reader.nearest(fetch));
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
    const auto last = static_cast<f64>(image.levels.size() - 1);
    const Sampler& sampler = image.sampler;
    const f64 wanted = within_reach(level_of(image, fetch) + sampler.bias);
    const f64 limited =
        std::max(f64{sampler.least_level}, std::min(wanted, f64{sampler.most_level}));
    const f64 level = image.levels.size() == 1 ? 0 : std::clamp(limited, 0.0, last);
    if (sampler.linear_levels && image.levels.size() > 1) {
        const auto first = static_cast<std::size_t>(level);
        const std::size_t second = std::min(first + 1, image.levels.size() - 1);
        const f64 weight = std::floor((level - std::floor(level)) * weight_one + 0.5) / weight_one;
        if (!Reader(image, first, layer).as_integers()) {
            std::array<f64, 4> a = real_sample(image, fetch, first, layer);
            const std::array<f64, 4> b = real_sample(image, fetch, second, layer);
            for (u32 k = 0; k < 4; ++k)
                a[k] = weight == 0 ? a[k] : (1 - weight) * a[k] + weight * b[k];
            return texel_of(a);
        }
    }
    const auto nearest = static_cast<std::size_t>(std::min(std::floor(level + 0.5), last));
    const Reader reader(image, nearest, layer);
    if (reader.as_integers()) return reader.integer_texel(reader.nearest(fetch));
    return texel_of(real_sample(image, fetch, nearest, layer));
}

Texel gather(const Image& image, const Fetch& fetch, u32 component) noexcept {
    const Reader reader(image, 0, 0);
    std::array<i64, 2> low{};
    for (u32 axis = 0; axis < 2; ++axis)
        low[axis] = reader.place(fetch.at[axis], axis, true).texel;
    constexpr u32 order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel made{};
    for (u32 k = 0; k < 4; ++k) {
        const std::array<i64, 3> texel{low[0] + order[k][0], low[1] + order[k][1], 0};
        made[k] = reader.as_integers() ? reader.integer_texel(texel)[component]
                                       : texel_of(reader.real_texel(texel))[component];
    }
    return made;
}

}  // namespace lode::emulator::exec
