#include "base/try.hpp"

#include <lode/runtime/tensor_layout.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::size_t most_extents = 5;
constexpr std::size_t fewest_pixel_extents = 3;
constexpr std::uint64_t largest_extent = std::uint64_t{1} << 32;
constexpr std::uint64_t stride_end = std::uint64_t{1} << 40;
constexpr std::uint32_t largest_box = 256;
constexpr std::uint32_t largest_element_stride = 8;
constexpr std::uint32_t most_channels = 256;
constexpr std::uint32_t most_pixels = 1024;
constexpr std::uint64_t plain_alignment = 16;
constexpr std::uint64_t wide_alignment = 32;
constexpr std::uint32_t packed_box = 128;
constexpr std::uint64_t bits_per_byte = 8;

/// By TensorType.
struct TensorTypeRow {
    std::string_view name;
    std::uint64_t bits;
    bool floating_point;
};
constexpr std::array<TensorTypeRow, 16> tensor_types = {{{"u8", 8, false},
                                                         {"u16", 16, false},
                                                         {"u32", 32, false},
                                                         {"i32", 32, false},
                                                         {"u64", 64, false},
                                                         {"i64", 64, false},
                                                         {"f16", 16, true},
                                                         {"f32", 32, true},
                                                         {"f64", 64, true},
                                                         {"bf16", 16, true},
                                                         {"f32_ftz", 32, true},
                                                         {"tf32", 32, true},
                                                         {"tf32_ftz", 32, true},
                                                         {"u4x16_align8", 4, false},
                                                         {"u4x16_align16", 4, false},
                                                         {"u6x16_align16", 6, false}}};

tl::unexpected<Error> refuse_tensor(std::string message) {
    return fail(Errc::invalid_argument, std::move(message));
}

template <class Number>
Status check_range(std::string_view what, Number value, Number least, Number most) {
    if (value >= least && value <= most) return {};
    return refuse_tensor(
        fmt::format("{} is {} but must be from {} to {}.", what, value, least, most));
}

Status check_multiple(std::string_view what, std::uint64_t value, std::uint64_t unit) {
    if (value % unit == 0) return {};
    return refuse_tensor(fmt::format("{} is {} but must be a multiple of {}.", what, value, unit));
}

Status check_count(std::string_view what, std::size_t count, std::size_t wanted) {
    if (count == wanted) return {};
    return refuse_tensor(fmt::format("There are {} {} but must be {}.", count, what, wanted));
}

/// Types whose 16 numbers take 16 bytes in shared memory.
bool is_spread(TensorType type) noexcept {
    return type == TensorType::u4x16_align16 || type == TensorType::u6x16_align16;
}

std::string numbered(std::string_view what, std::size_t index) {
    return fmt::format("{} {}", what, index);
}

Status check_swizzle_of_type(const TensorLayout& layout) {
    if (!is_spread(layout.type)) return {};
    const bool known = layout.swizzle == TensorSwizzle::none ||
                       layout.swizzle == TensorSwizzle::bytes_128 ||
                       layout.swizzle == TensorSwizzle::bytes_128_atom_32 ||
                       (layout.type == TensorType::u6x16_align16 &&
                        layout.swizzle == TensorSwizzle::bytes_128_atom_64);
    if (known) return {};
    return refuse_tensor(
        fmt::format("A tensor of {} doesn't have this swizzle; it has none, bytes_128 or "
                    "bytes_128_atom_32{}.",
                    to_string(layout.type),
                    layout.type == TensorType::u6x16_align16 ? " or bytes_128_atom_64" : ""));
}

Status check_modes(const TensorLayout& layout) {
    if (layout.interleave == TensorInterleave::bytes_32 &&
        layout.swizzle != TensorSwizzle::bytes_32) {
        return refuse_tensor("The interleave bytes_32 needs the swizzle bytes_32.");
    }
    if (layout.interleave != TensorInterleave::none && layout.type == TensorType::u6x16_align16)
        return refuse_tensor("A tensor of u6x16_align16 can't be interleaved.");
    const auto& type = tensor_types[static_cast<std::size_t>(layout.type)];
    if (layout.fill == TensorFill::nan && !type.floating_point) {
        return refuse_tensor(
            fmt::format("The fill nan needs a floating-point type, which {} isn't.", type.name));
    }
    return check_swizzle_of_type(layout);
}

Status check_extents(const TensorLayout& layout, std::size_t fewest) {
    const std::size_t rank = layout.extents.size();
    LODE_TRY(check_range("The number of extents", rank, fewest, most_extents));
    LODE_TRY(check_count("strides", layout.strides_bytes.size(), rank - 1));
    for (std::size_t i = 0; i < rank; ++i) {
        LODE_TRY(check_range<std::uint64_t>(numbered("Extent", i), layout.extents[i], 1,
                                            largest_extent));
    }
    if (is_spread(layout.type)) return check_multiple("Extent 0", layout.extents[0], packed_box);
    if (layout.type == TensorType::u4x16_align8)
        return check_multiple("Extent 0", layout.extents[0], 2);
    return {};
}

Status check_layout(const TensorLayout& layout, std::size_t fewest_extents) {
    if (static_cast<std::size_t>(layout.type) >= tensor_types.size()) {
        return refuse_tensor(
            fmt::format("{} isn't a type of elements.", static_cast<unsigned>(layout.type)));
    }
    const bool interleaved = layout.interleave != TensorInterleave::none;
    LODE_TRY(check_extents(
        layout, interleaved ? std::max(fewest_extents, fewest_pixel_extents) : fewest_extents));
    const std::uint64_t alignment =
        layout.interleave == TensorInterleave::bytes_32 || is_spread(layout.type) ? wide_alignment
                                                                                  : plain_alignment;
    LODE_TRY(check_multiple("The address", layout.address, alignment));
    for (std::size_t i = 0; i < layout.strides_bytes.size(); ++i) {
        const auto what = numbered("Stride", i);
        LODE_TRY(check_range<std::uint64_t>(what, layout.strides_bytes[i], 0, stride_end - 1));
        LODE_TRY(check_multiple(what, layout.strides_bytes[i], alignment));
    }
    if (!layout.element_strides.empty()) {
        LODE_TRY(
            check_count("element strides", layout.element_strides.size(), layout.extents.size()));
    }
    for (std::size_t i = 0; i < layout.element_strides.size(); ++i) {
        LODE_TRY(check_range<std::uint32_t>(numbered("Element stride", i),
                                            layout.element_strides[i], 1, largest_element_stride));
    }
    return check_modes(layout);
}

/// Bytes that the swizzle permutes; the largest number without one.
std::uint64_t swizzle_bytes(TensorSwizzle swizzle) noexcept {
    constexpr std::uint64_t narrow = 32;
    constexpr std::uint64_t middle = 64;
    constexpr std::uint64_t wide = 128;
    switch (swizzle) {
        case TensorSwizzle::none:
            return std::numeric_limits<std::uint64_t>::max();
        case TensorSwizzle::bytes_32:
            return narrow;
        case TensorSwizzle::bytes_64:
            return middle;
        default:
            return wide;
    }
}

std::uint64_t inner_bytes(TensorType type, std::uint32_t elements) noexcept {
    return elements * tensor_types[static_cast<std::size_t>(type)].bits / bits_per_byte;
}

/// The innermost extent of a box or a pixel.
Status check_inner(const TensorLayout& layout, std::string_view what, std::uint32_t elements) {
    if (is_spread(layout.type) && elements != packed_box) {
        return refuse_tensor(fmt::format("{} is {} but must be {} for {}.", what, elements,
                                         packed_box, to_string(layout.type)));
    }
    if (layout.interleave != TensorInterleave::none) return {};
    const std::uint64_t bytes = inner_bytes(layout.type, elements);
    if (!is_spread(layout.type) && bytes > swizzle_bytes(layout.swizzle)) {
        return refuse_tensor(fmt::format("{} takes {} bytes, more than the {} of the swizzle.",
                                         what, bytes, swizzle_bytes(layout.swizzle)));
    }
    return {};
}

Status check_pixels(const TensorLayout& layout, std::uint32_t channels, std::uint32_t pixels) {
    LODE_TRY(
        check_range<std::uint32_t>("The number of channels per pixel", channels, 1, most_channels));
    LODE_TRY(check_range<std::uint32_t>("The number of pixels per column", pixels, 1, most_pixels));
    return check_inner(layout, "The number of channels per pixel", channels);
}

/// Checks that one dimension of the bounding box, whose offsets are `lower` and `upper`, isn't
/// empty.
Status check_box(std::string_view axis, std::uint64_t extent, int lower, int upper) {
    const auto width = static_cast<std::int64_t>(extent) + upper - lower;
    if (width > 0) return {};
    return refuse_tensor(
        fmt::format("The bounding box along {} is empty: it goes from {} to {} plus {}.", axis,
                    lower, extent, upper));
}

constexpr std::string_view pixel_axes[] = {"W", "H", "D"};

}  // namespace

std::string_view to_string(TensorType type) noexcept {
    const auto index = static_cast<std::size_t>(type);
    return index < tensor_types.size() ? tensor_types[index].name : "unknown";
}

Status check_tensor(const TiledTensor& tensor) {
    LODE_TRY(check_layout(tensor.layout, 1));
    LODE_TRY(check_count("extents of the box", tensor.box.size(), tensor.layout.extents.size()));
    for (std::size_t i = 0; i < tensor.box.size(); ++i) {
        LODE_TRY(check_range<std::uint32_t>(numbered("Extent of the box", i), tensor.box[i], 1,
                                            largest_box));
    }
    LODE_TRY(check_inner(tensor.layout, "Extent of the box 0", tensor.box[0]));
    if (tensor.layout.interleave != TensorInterleave::none) return {};
    return check_multiple("Extent of the box 0 in bytes",
                          inner_bytes(tensor.layout.type, tensor.box[0]), plain_alignment);
}

Status check_tensor(const Im2colTensor& tensor) {
    LODE_TRY(check_layout(tensor.layout, fewest_pixel_extents));
    const std::size_t offsets = tensor.layout.extents.size() - 2;
    LODE_TRY(check_count("offsets of the lower corner", tensor.lower_corner.size(), offsets));
    LODE_TRY(check_count("offsets of the upper corner", tensor.upper_corner.size(), offsets));
    // One offset has 16 bits, two have 8 each and three have 5 each.
    constexpr int offset_bits[] = {16, 8, 5};
    const int end = 1 << (offset_bits[offsets - 1] - 1);
    for (std::size_t i = 0; i < offsets; ++i) {
        LODE_TRY(check_range(fmt::format("The lower corner's offset along {}", pixel_axes[i]),
                             tensor.lower_corner[i], -end, end - 1));
        LODE_TRY(check_range(fmt::format("The upper corner's offset along {}", pixel_axes[i]),
                             tensor.upper_corner[i], -end, end - 1));
        LODE_TRY(check_box(pixel_axes[i], tensor.layout.extents[i + 1], tensor.lower_corner[i],
                           tensor.upper_corner[i]));
    }
    return check_pixels(tensor.layout, tensor.channels_per_pixel, tensor.pixels_per_column);
}

Status check_tensor(const Im2colWideTensor& tensor) {
    LODE_TRY(check_layout(tensor.layout, fewest_pixel_extents));
    const TensorSwizzle swizzle = tensor.layout.swizzle;
    if (swizzle != TensorSwizzle::bytes_64 && swizzle != TensorSwizzle::bytes_128 &&
        swizzle != TensorSwizzle::bytes_128_atom_32) {
        return refuse_tensor(
            "A wide im2col tensor needs the swizzle bytes_64, bytes_128 or bytes_128_atom_32.");
    }
    constexpr int end = 1 << 15;
    LODE_TRY(
        check_range("The lower corner's offset along W", tensor.lower_corner_width, -end, end - 1));
    LODE_TRY(
        check_range("The upper corner's offset along W", tensor.upper_corner_width, -end, end - 1));
    LODE_TRY(check_box(pixel_axes[0], tensor.layout.extents[1], tensor.lower_corner_width,
                       tensor.upper_corner_width));
    const bool has_column = tensor.mode == Im2colWideMode::w;
    return check_pixels(tensor.layout, tensor.channels_per_pixel,
                        has_column ? tensor.pixels_per_column : 1);
}

}  // namespace LODE_NAMESPACE
