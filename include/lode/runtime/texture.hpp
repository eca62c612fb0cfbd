/// \file
/// Textures: how kernels read arrays and memory with filtering, address modes and conversions
/// (Programming Guide 3.2.11.1).
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/array.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/native.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What a coordinate outside of the texture means. `wrap` and `mirror` need normalised coordinates;
/// otherwise they clamp.
enum class AddressMode : std::uint8_t {
    wrap,    ///< The fraction of the coordinate.
    clamp,   ///< The nearest element.
    mirror,  ///< The fraction, in every second repetition backwards.
    border,  ///< The border colour.
};

/// How a value between elements is made.
enum class TextureFilter : std::uint8_t {
    nearest,  ///< The element that contains the coordinates.
    linear    ///< Interpolation, with weights of 8 bits; for reads that return floats.
};

/// Options of a new texture.
struct TextureOptions {
    /// For x, y and z.
    std::array<AddressMode, 3> address{AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
    TextureFilter filter = TextureFilter::nearest;  ///< Between elements.
    bool normalized_coordinates = false;            ///< From 0 to 1 instead of to the extents.
    /// Whether integers of 8 and 16 bits are read as floats from 0 to 1, or from -1 to 1.
    bool normalized_values = false;
    bool srgb = false;            ///< Whether 8-bit colours are decoded from sRGB.
    unsigned max_anisotropy = 0;  ///< At most 16.
    TextureFilter mipmap_filter = TextureFilter::nearest;  ///< Between levels.
    float mipmap_bias = 0;                                 ///< Added to the level.
    float min_mipmap_level = 0;                            ///< The level's lower limit.
    float max_mipmap_level = 0;                            ///< The level's upper limit.
    std::array<float, 4> border{};                         ///< For AddressMode::border.
};

namespace detail {
struct TextureTraits {
    using Handle = NativeTexture;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using TextureHandle = UniqueHandle<TextureTraits>;

/// Elements in linear memory; `height` is 0 for a line.
struct TextureMemory {
    DeviceMemoryRef memory;
    ElementFormat format;
    std::size_t elements = 0;
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t pitch_bytes = 0;
};

[[nodiscard]] Result<TextureHandle> create_texture(const ArrayHandle& array, ElementFormat format,
                                                   const TextureOptions& options);
[[nodiscard]] Result<TextureHandle> create_texture(const MipmappedArrayHandle& array,
                                                   ElementFormat format,
                                                   const TextureOptions& options);
[[nodiscard]] Result<TextureHandle> create_texture(const Device& device,
                                                   const TextureMemory& memory,
                                                   const TextureOptions& options);
}  // namespace detail

/// Owns a texture object. Pass it to launch() where the kernel expects a cudaTextureObject_t
/// (unsigned long long). Move-only; keeps the device alive, but not the array or the memory, which
/// must outlive it. It must outlive the kernels that use it. A default-constructed or moved-from
/// texture is empty, and a launch with it fails with invalid_argument.
///
/// A kernel's writes to the same memory aren't visible to its own texture reads (Programming Guide
/// 3.2.11.4). Errors of every create(): invalid_argument for an empty array or span, for memory of
/// another device, for a linear filter of integers, and for more than the device's limits, with
/// both; device_lost; the driver's own.
class Texture {
public:
    /// An empty texture, to be assigned to.
    Texture() noexcept = default;

    /// Reads an array.
    template <class T>
    [[nodiscard]] static Result<Texture> create(const Array<T>& array,
                                                const TextureOptions& options = {}) {
        return made(detail::create_texture(array.handle(), ElementFormatOf<T>::value, options));
    }
    /// Reads the levels of an array, which needs normalised coordinates.
    template <class T>
    [[nodiscard]] static Result<Texture> create(const MipmappedArray<T>& array,
                                                const TextureOptions& options = {}) {
        return made(detail::create_texture(array.handle(), ElementFormatOf<T>::value, options));
    }
    /// Reads linear memory by whole coordinates (tex1Dfetch); outside of it the value is 0. The
    /// address must be a multiple of the device's texture alignment, as that of a buffer is.
    template <class T>
    [[nodiscard]] static Result<Texture> create(const Device& device, DeviceSpan<T> memory,
                                                const TextureOptions& options = {}) {
        return made(detail::create_texture(
            device,
            {memory.memory(), ElementFormatOf<std::remove_const_t<T>>::value, memory.size()},
            options));
    }
    /// Reads linear memory as a plane of `height` rows of `width` elements, `pitch_bytes` apart: a
    /// multiple of the device's texture pitch alignment.
    template <class T>
    [[nodiscard]] static Result<Texture> create_pitched(const Device& device, DeviceSpan<T> memory,
                                                        std::size_t width, std::size_t height,
                                                        std::size_t pitch_bytes,
                                                        const TextureOptions& options = {}) {
        return made(
            detail::create_texture(device,
                                   {memory.memory(), ElementFormatOf<std::remove_const_t<T>>::value,
                                    memory.size(), width, height, pitch_bytes},
                                   options));
    }

    /// Whether there is a texture.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The handle for kernels, still owned by this object; also a cudaTextureObject_t.
    [[nodiscard]] NativeTexture native() const noexcept { return handle_.get(); }

    /// For launches: the value of the parameter.
    [[nodiscard]] NativeTexture data() const noexcept { return handle_.get(); }
    /// For lode's own components, not for hosts.
    [[nodiscard]] const detail::DeviceState* owner() const noexcept {
        return handle_.owner().get();
    }

private:
    [[nodiscard]] static Result<Texture> made(Result<detail::TextureHandle> handle) {
        return std::move(handle).map(
            [](detail::TextureHandle owned) { return Texture(std::move(owned)); });
    }
    explicit Texture(detail::TextureHandle handle) noexcept : handle_(std::move(handle)) {}

    detail::TextureHandle handle_;
};

template <>
inline constexpr bool detail::is_device_memory<Texture> = true;
template <>
inline constexpr detail::ArgumentKind detail::argument_kind<Texture> =
    detail::ArgumentKind::texture;

}  // namespace LODE_NAMESPACE

LODE_API_END
