// What tensor copies do, computed byte by byte, and random tensors to copy.
#pragma once

#include <lode/runtime/tensor_layout.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

namespace lode::test {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint32_t most_axes = 5;
constexpr std::uint32_t room_bytes = 32768;

/// What a kernel does; its layout is that of the kernel's parameter.
struct Job {
    std::int32_t at[most_axes] = {};
    std::uint16_t offsets[4] = {};
    std::uint32_t bytes = 0;
};

inline std::uint32_t size_of(TensorType type) {
    constexpr std::uint32_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return sizes[static_cast<int>(type)];
}

/// Where byte `offset` of the box is: 16-byte chunks are exchanged within rows of 128 bytes.
inline std::uint32_t place_of(std::uint32_t offset, TensorSwizzle swizzle) {
    const std::uint32_t row = offset / 128;
    const std::uint32_t chunk = offset % 128 / 16;
    switch (swizzle) {
        case TensorSwizzle::bytes_32:
            return row * 128 + (chunk ^ (row % 2)) * 16 + offset % 16;
        case TensorSwizzle::bytes_64:
            return row * 128 + (chunk ^ (row % 4)) * 16 + offset % 16;
        case TensorSwizzle::bytes_128:
            return row * 128 + (chunk ^ (row % 8)) * 16 + offset % 16;
        default:
            return offset;
    }
}

using Place = std::array<std::int64_t, most_axes>;

/// The byte of the tensor's memory at which an element begins; -1 outside of the tensor.
inline std::int64_t position_of(const TensorLayout& layout, const Place& at) {
    std::int64_t position = at[0] * size_of(layout.type);
    for (std::size_t k = 0; k < layout.extents.size(); ++k) {
        if (at[k] < 0 || at[k] >= static_cast<std::int64_t>(layout.extents[k])) return -1;
        if (k > 0) position += at[k] * static_cast<std::int64_t>(layout.strides_bytes[k - 1]);
    }
    return position;
}

/// The elements of a box in the order in which they lie in shared memory.
inline std::vector<Place> elements_of(const TiledTensor& tensor, const Job& job) {
    std::vector<Place> all{Place{}};
    for (std::size_t axis = tensor.box.size(); axis-- > 0;) {
        const std::uint32_t step = axis == 0 ? 1 : tensor.layout.element_strides[axis];
        std::vector<Place> next;
        for (const Place& outer : all) {
            for (std::uint32_t k = 0; k < tensor.box[axis]; k += step) {
                Place one = outer;
                one[axis] = job.at[axis] + std::int64_t{k};
                next.push_back(one);
            }
        }
        all = std::move(next);
    }
    return all;
}

/// The elements of the pixels of a column: all pixels of the images in order, from the first on.
inline std::vector<Place> elements_of(const Im2colTensor& tensor, const Job& job) {
    const auto axes = static_cast<std::uint32_t>(tensor.layout.extents.size());
    const std::uint32_t spatial = axes - 2;
    std::vector<Place> pixels{Place{}};
    for (std::uint32_t axis = axes; axis-- > 1;) {
        const bool image = axis == axes - 1;
        const auto extent = static_cast<std::int64_t>(tensor.layout.extents[axis]);
        const std::int64_t from = image ? 0 : tensor.lower_corner[axis - 1];
        const std::int64_t to = image ? extent : extent + tensor.upper_corner[axis - 1];
        const std::int64_t step = image ? 1 : tensor.layout.element_strides[axis];
        std::vector<Place> next;
        for (const Place& outer : pixels) {
            for (std::int64_t at = from; at < to; at += step) {
                Place one = outer;
                one[axis] = at;
                next.push_back(one);
            }
        }
        pixels = std::move(next);
    }
    const auto first = std::ranges::find_if(pixels, [&](const Place& one) {
        for (std::uint32_t axis = 1; axis < axes; ++axis) {
            if (one[axis] != job.at[axis]) return false;
        }
        return true;
    });
    std::vector<Place> all;
    for (std::uint32_t k = 0; k < tensor.pixels_per_column; ++k) {
        const auto left = static_cast<std::uint32_t>(pixels.end() - first);
        Place pixel = k < left ? first[k] : Place{0, -1000, -1000, -1000, -1000};
        for (std::uint32_t s = 0; s < spatial; ++s)
            pixel[s + 1] += job.offsets[s];
        for (std::uint32_t c = 0; c < tensor.channels_per_pixel; ++c) {
            Place one = pixel;
            one[0] = job.at[0] + std::int64_t{c};
            all.push_back(one);
        }
    }
    return all;
}

inline Bytes random_bytes(std::mt19937& random, std::size_t count) {
    Bytes made(count);
    for (auto& byte : made)
        byte = static_cast<std::uint8_t>(random());
    return made;
}

/// A number from `from` to `to`.
inline std::int32_t between(std::mt19937& random, std::int32_t from, std::int32_t to) {
    return from + static_cast<std::int32_t>(random() % static_cast<unsigned>(to - from + 1));
}

template <class T>
T one_of(std::mt19937& random, std::initializer_list<T> values) {
    return values.begin()[random() % values.size()];
}

/// The NaN that fills elements outside of a tensor, as seen on an H200.
inline std::uint64_t filling(const TensorLayout& layout) {
    return layout.fill == TensorFill::zero ? 0 : 0x7ff7'7ff7'7ff7'7ff7;
}

/// Where each element of a box lies in shared memory: a row takes the whole span of a swizzle.
inline std::vector<std::uint32_t> places_of(const TensorLayout& layout, std::uint32_t row_elements,
                                            std::size_t count) {
    constexpr std::uint32_t spans[] = {0, 32, 64, 128};
    const std::uint32_t size = size_of(layout.type);
    const std::uint32_t pitch =
        std::max(row_elements * size, spans[static_cast<int>(layout.swizzle)]);
    std::vector<std::uint32_t> all;
    for (std::uint32_t k = 0; k < count; ++k)
        all.push_back(place_of(k / row_elements * pitch + k % row_elements * size, layout.swizzle));
    return all;
}

inline std::uint32_t row_elements_of(const TiledTensor& tensor) {
    return tensor.box[0];
}
inline std::uint32_t row_elements_of(const Im2colTensor& tensor) {
    return tensor.channels_per_pixel;
}

/// The shared memory after a load.
template <class Tensor>
inline Bytes loaded(const Tensor& tensor, const Job& job, const Bytes& memory) {
    Bytes room(room_bytes, 0xcd);
    const std::uint32_t size = size_of(tensor.layout.type);
    const std::uint64_t fill = filling(tensor.layout);
    const auto elements = elements_of(tensor, job);
    const auto places = places_of(tensor.layout, row_elements_of(tensor), elements.size());
    for (std::size_t k = 0; k < elements.size(); ++k) {
        const std::int64_t from = position_of(tensor.layout, elements[k]);
        const void* const value = from < 0 ? static_cast<const void*>(&fill) : &memory[from];
        std::memcpy(&room[places[k]], value, size);
    }
    return room;
}

inline TensorLayout random_layout(std::mt19937& random, std::uint32_t axes, bool steps) {
    TensorLayout made;
    made.type = one_of(random, {TensorType::u8, TensorType::u16, TensorType::u32, TensorType::u64,
                                TensorType::f16, TensorType::f32, TensorType::f64, TensorType::bf16,
                                TensorType::i32, TensorType::i64});
    const std::uint32_t size = size_of(made.type);
    std::uint64_t stride = 0;
    for (std::uint32_t k = 0; k < axes; ++k) {
        made.extents.push_back(static_cast<std::uint64_t>(
            between(random, 1, k == 0 ? static_cast<std::int32_t>(160 / size) : 9)));
        made.element_strides.push_back(
            steps && k > 0 ? static_cast<std::uint32_t>(between(random, 1, 3)) : 1);
        stride = k == 0 ? made.extents[0] * size : stride * made.extents[k];
        stride = (stride + 15) / 16 * 16 + 16 * (random() % 2);
        if (k + 1 < axes) made.strides_bytes.push_back(stride);
    }
    const bool is_real = made.type >= TensorType::f16 && made.type <= TensorType::bf16;
    if (is_real && random() % 2 == 0) made.fill = TensorFill::nan;
    made.swizzle = one_of(random, {TensorSwizzle::none, TensorSwizzle::bytes_32,
                                   TensorSwizzle::bytes_64, TensorSwizzle::bytes_128});
    return made;
}

/// Bytes that hold a tensor.
inline std::size_t memory_of(const TensorLayout& layout) {
    const auto axes = layout.extents.size();
    std::uint64_t bytes = layout.extents[0] * size_of(layout.type);
    for (std::size_t k = 1; k < axes; ++k)
        bytes += (layout.extents[k] - 1) * layout.strides_bytes[k - 1];
    return (bytes + 255) / 256 * 256;
}

/// Bytes of a row in shared memory: as many as a swizzle allows, or fewer.
inline std::uint32_t row_of(std::mt19937& random, TensorSwizzle swizzle) {
    constexpr std::int32_t chunks[] = {9, 2, 4, 8};
    const std::int32_t most = chunks[static_cast<int>(swizzle)];
    return 16 * static_cast<std::uint32_t>(random() % 2 == 0 ? most : between(random, 1, most));
}

/// A first coordinate that is a multiple of 16 bytes, as devices demand.
inline std::int32_t aligned_first(std::mt19937& random, const TensorLayout& layout) {
    const auto unit = static_cast<std::int32_t>(16 / size_of(layout.type));
    return between(random, 0, static_cast<std::int32_t>(layout.extents[0]) / unit) * unit;
}

inline TiledTensor random_tiles(std::mt19937& random, std::uint32_t axes) {
    TiledTensor made;
    made.layout = random_layout(random, axes, random() % 2 == 0);
    const std::uint32_t row = row_of(random, made.layout.swizzle);
    made.box.push_back(row / size_of(made.layout.type));
    std::uint32_t rows = 1;
    for (std::uint32_t k = 1; k < axes; ++k) {
        made.box.push_back(static_cast<std::uint32_t>(between(random, 1, k < 3 ? 7 : 3)));
        rows *= made.box[k];
    }
    while (rows * std::max(row, 128u) > room_bytes) {
        for (std::uint32_t k = 1; k < axes; ++k) {
            rows = rows / made.box[k] * ((made.box[k] + 1) / 2);
            made.box[k] = (made.box[k] + 1) / 2;
        }
    }
    return made;
}

inline Job random_job(std::mt19937& random, const TiledTensor& tensor) {
    Job job;
    for (std::size_t k = 0; k < tensor.box.size(); ++k) {
        const auto extent = static_cast<std::int32_t>(tensor.layout.extents[k]);
        job.at[k] = between(random, -4, extent);
        if (random() % 3 == 0) job.at[k] = 0;
        if (k == 0) job.at[k] = aligned_first(random, tensor.layout);
    }
    job.bytes =
        static_cast<std::uint32_t>(elements_of(tensor, job).size()) * size_of(tensor.layout.type);
    return job;
}

}  // namespace lode::test
