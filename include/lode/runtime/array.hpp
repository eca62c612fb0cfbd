/// \file
/// CUDA arrays: memory in a layout that only the driver knows, for textures and surfaces.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/pitched.hpp>
#include <lode/runtime/stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// The format of an array's elements.
struct ElementFormat {
    /// What the bits of a component mean.
    enum class Kind : std::uint8_t {
        unsigned_integer,  ///< 8, 16 or 32 bits.
        signed_integer,    ///< 8, 16 or 32 bits.
        floating_point,    ///< 16 or 32 bits.
    };
    Kind kind = Kind::floating_point;  ///< What every component's bits mean.
    unsigned bits = 32;                ///< Bits of one component.
    unsigned channels = 1;             ///< 1, 2 or 4 components.

    /// Bytes of an element.
    [[nodiscard]] constexpr std::size_t bytes() const noexcept {
        return std::size_t{bits} / 8 * channels;
    }
    /// Compares every member.
    friend bool operator==(const ElementFormat&, const ElementFormat&) = default;
};

namespace detail {
template <class T>
constexpr ElementFormat scalar_format(unsigned channels) noexcept {
    using Kind = ElementFormat::Kind;
    const Kind kind = std::is_floating_point_v<T> ? Kind::floating_point
                      : std::is_signed_v<T>       ? Kind::signed_integer
                                                  : Kind::unsigned_integer;
    return {kind, static_cast<unsigned>(sizeof(T) * 8), channels};
}
template <class T>
concept ArrayScalar = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 4;
/// Structs like CUDA's float2 and uchar4.
template <class T>
concept VectorOfTwo = requires(T v) {
    v.x, v.y;
}
&&!requires(T v) {
    v.z;
}
&&ArrayScalar<decltype(T::x)> && sizeof(T) == 2 * sizeof(T::x);
template <class T>
concept VectorOfFour = requires(T v) {
    v.x, v.y, v.z, v.w;
}
&&ArrayScalar<decltype(T::x)> && sizeof(T) == 4 * sizeof(T::x);
}  // namespace detail

/// The format of T as an array's element, in `value`: an integer of 8, 16 or 32 bits, a float, a
/// std::array of 1, 2 or 4 of these, or a struct of two (x, y) or four (x, y, z, w), such as CUDA's
/// vector types. Specialise it for a host's other types, for example for one with a half's 16 bits.
template <class T>
struct ElementFormatOf;
/// A single component.
template <detail::ArrayScalar T>
struct ElementFormatOf<T> {
    static constexpr ElementFormat value = detail::scalar_format<T>(1);  ///< The format.
};
/// 1, 2 or 4 components.
template <detail::ArrayScalar T, std::size_t n>
requires(n == 1 || n == 2 || n == 4) struct ElementFormatOf<std::array<T, n>> {
    static constexpr ElementFormat value = detail::scalar_format<T>(n);  ///< The format.
};
/// Two components.
template <detail::VectorOfTwo T>
struct ElementFormatOf<T> {
    static constexpr ElementFormat value =
        detail::scalar_format<std::remove_cvref_t<decltype(T::x)>>(2);  ///< The format.
};
/// Four components.
template <detail::VectorOfFour T>
struct ElementFormatOf<T> {
    static constexpr ElementFormat value =
        detail::scalar_format<std::remove_cvref_t<decltype(T::x)>>(4);  ///< The format.
};

/// How the extents of an array are meant.
enum class ArrayShape : std::uint8_t {
    plain,           ///< A line, a plane or a volume, depending on the extents.
    layered,         ///< `depth` layers of lines (with a height of 0) or of planes.
    cubemap,         ///< Six square layers, the faces: depth is 6.
    layered_cubemap  ///< Cubemaps in layers: depth is six times their number.
};

/// The extents of an array, in elements. A line has a height and a depth of 0, a plane a depth of
/// 0.
struct ArrayExtent {
    std::size_t width = 0;   ///< Elements of a row.
    std::size_t height = 0;  ///< Rows.
    std::size_t depth = 0;   ///< Slices or layers.

    /// All elements.
    [[nodiscard]] constexpr std::size_t volume() const noexcept {
        return width * (height == 0 ? 1 : height) * (depth == 0 ? 1 : depth);
    }
    /// Compares every member.
    friend bool operator==(const ArrayExtent&, const ArrayExtent&) = default;
};

/// Options of a new array.
struct ArrayOptions {
    ArrayShape shape = ArrayShape::plain;  ///< The meaning of the extents.
    bool surface = false;                  ///< Whether kernels may write it through a Surface.
    bool gather = false;                   ///< Whether tex2Dgather may read it: planes only.
};

/// A part of an array.
struct ArrayBox {
    std::size_t x = 0;       ///< Elements before it in a row.
    std::size_t y = 0;       ///< Rows before it.
    std::size_t z = 0;       ///< Slices or layers before it.
    std::size_t width = 0;   ///< Elements of a row.
    std::size_t height = 1;  ///< Rows.
    std::size_t depth = 1;   ///< Slices or layers.

    /// All elements.
    [[nodiscard]] constexpr std::size_t volume() const noexcept { return width * height * depth; }
};

namespace detail {
struct ArrayTraits {
    using Handle = NativeArray;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
struct MipmappedArrayTraits {
    using Handle = NativeMipmappedArray;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using ArrayHandle = UniqueHandle<ArrayTraits>;
using MipmappedArrayHandle = UniqueHandle<MipmappedArrayTraits>;

/// An array without its type.
struct ArrayPlace {
    NativeArray array = nullptr;
    DeviceState* device = nullptr;
    ArrayExtent extent;
    std::size_t element_bytes = 1;
};

/// The elements on the other side of a copy: packed ones in host or device memory, or a box in
/// pitched memory.
struct CopiedElements {
    void* host = nullptr;
    PitchedMemory memory = {};  ///< Without a pitch, its elements are packed.
    bool is_host = false;
    std::size_t count = 0;
    BoxExtent extent = {};  ///< For pitched memory.
};

[[nodiscard]] Result<ArrayHandle> create_array(const Device& device, const ElementFormat& format,
                                               const ArrayExtent& extent,
                                               const ArrayOptions& options);
[[nodiscard]] Result<MipmappedArrayHandle> create_mipmapped_array(const Device& device,
                                                                  const ElementFormat& format,
                                                                  const ArrayExtent& extent,
                                                                  const ArrayOptions& options,
                                                                  unsigned levels);
[[nodiscard]] Result<ArrayPlace> level_of(const MipmappedArrayHandle& array,
                                          const ArrayExtent& first, ArrayShape shape,
                                          std::size_t element_bytes, unsigned levels,
                                          unsigned level);
/// Without a stream, waits for the device's work and for the copy.
[[nodiscard]] Status copy_array(const ArrayPlace& array, const ArrayBox& box,
                                const CopiedElements& elements, bool to_array,
                                const StreamRef* stream);
/// The box that is the whole array.
[[nodiscard]] ArrayBox whole_box(const ArrayExtent& extent) noexcept;
}  // namespace detail

/// A view of an array, or of a level of a mipmapped one: trivially copyable, owns nothing. Valid as
/// long as the array.
///
/// Copies move elements from or to a box of the array, in one call of the driver: packed ones, row
/// after row, in contiguous host memory or a DeviceSpan, or a PitchedSpan of the box's extents.
/// Calls without a stream first wait for all work on the device and return when they are done; the
/// others enqueue the copy, and its memory must stay alive until then. Errors of every copy:
/// invalid_argument for a view of an empty array, for a box that isn't inside the array, if the
/// number of elements, or the pitched span's extent, isn't that of the box, and for a stream or a
/// span of another device; device_lost; the driver's own. Calls from several threads are safe, but
/// the caller must order copies and kernels that use the same elements.
template <class T>
class ArrayRef {
public:
    /// The extents at creation, or those of the level.
    [[nodiscard]] ArrayExtent extent() const noexcept { return place_.extent; }
    /// The driver's handle.
    [[nodiscard]] NativeArray native() const noexcept { return place_.array; }

    /// Fills the array from the host.
    [[nodiscard]] Status copy_from(std::span<const T> from) const {
        return copy_from(from, whole());
    }
    /// Fills a box from the host.
    [[nodiscard]] Status copy_from(std::span<const T> from, const ArrayBox& box) const {
        return detail::copy_array(place_, box, host(from.data(), from.size()), true, nullptr);
    }
    /// Fills a box from device memory.
    [[nodiscard]] Status copy_from(DeviceSpan<const T> from, const ArrayBox& box) const {
        return detail::copy_array(place_, box, device(from), true, nullptr);
    }
    /// Fills a box from pitched device memory.
    [[nodiscard]] Status copy_from(PitchedSpan<const T> from, const ArrayBox& box) const {
        return detail::copy_array(place_, box, pitched(from), true, nullptr);
    }
    /// Fills `to` from the whole array.
    [[nodiscard]] Status copy_to(std::span<T> to) const { return copy_to(to, whole()); }
    /// Fills `to` from a box.
    [[nodiscard]] Status copy_to(std::span<T> to, const ArrayBox& box) const {
        return detail::copy_array(place_, box, host(to.data(), to.size()), false, nullptr);
    }
    /// Fills device memory from a box.
    [[nodiscard]] Status copy_to(DeviceSpan<T> to, const ArrayBox& box) const {
        return detail::copy_array(place_, box, device(to), false, nullptr);
    }
    /// Fills pitched device memory from a box.
    [[nodiscard]] Status copy_to(PitchedSpan<T> to, const ArrayBox& box) const {
        return detail::copy_array(place_, box, pitched(to), false, nullptr);
    }
    /// All elements.
    [[nodiscard]] Result<std::vector<T>> to_vector() const {
        std::vector<T> values(place_.extent.volume());
        return copy_to(values).map([&] { return std::move(values); });
    }

    /// Enqueues a copy from the host to a box.
    [[nodiscard]] Status copy_from_async(StreamRef stream, std::span<const T> from,
                                         const ArrayBox& box) const {
        return detail::copy_array(place_, box, host(from.data(), from.size()), true, &stream);
    }
    /// Enqueues a copy from device memory to a box.
    [[nodiscard]] Status copy_from_async(StreamRef stream, DeviceSpan<const T> from,
                                         const ArrayBox& box) const {
        return detail::copy_array(place_, box, device(from), true, &stream);
    }
    /// Enqueues a copy from pitched device memory to a box.
    [[nodiscard]] Status copy_from_async(StreamRef stream, PitchedSpan<const T> from,
                                         const ArrayBox& box) const {
        return detail::copy_array(place_, box, pitched(from), true, &stream);
    }
    /// Enqueues a copy from a box to the host.
    [[nodiscard]] Status copy_to_async(StreamRef stream, std::span<T> to,
                                       const ArrayBox& box) const {
        return detail::copy_array(place_, box, host(to.data(), to.size()), false, &stream);
    }
    /// Enqueues a copy from a box to device memory.
    [[nodiscard]] Status copy_to_async(StreamRef stream, DeviceSpan<T> to,
                                       const ArrayBox& box) const {
        return detail::copy_array(place_, box, device(to), false, &stream);
    }
    /// Enqueues a copy from a box to pitched device memory.
    [[nodiscard]] Status copy_to_async(StreamRef stream, PitchedSpan<T> to,
                                       const ArrayBox& box) const {
        return detail::copy_array(place_, box, pitched(to), false, &stream);
    }

    /// The box that is the whole array.
    [[nodiscard]] ArrayBox whole() const noexcept { return detail::whole_box(place_.extent); }

    /// For lode's own components, not for hosts.
    explicit ArrayRef(const detail::ArrayPlace& place) noexcept : place_(place) {}

private:
    static detail::CopiedElements host(const T* data, std::size_t count) noexcept {
        return {.host = const_cast<T*>(data), .is_host = true, .count = count};
    }
    template <class U>
    static detail::CopiedElements device(DeviceSpan<U> span) noexcept {
        return {.memory = {.memory = span.memory()}, .count = span.size()};
    }
    template <class U>
    static detail::CopiedElements pitched(PitchedSpan<U> span) noexcept {
        return {.memory = span.memory(), .count = span.extent().volume(), .extent = span.extent()};
    }

    detail::ArrayPlace place_;
};

/// Owns a CUDA array of elements of T, whose format is ElementFormatOf<T>. Move-only; keeps the
/// device alive. Textures and surfaces of it become invalid with it. A default-constructed or
/// moved-from array is empty.
template <class T>
class Array {
public:
    /// An empty array, to be assigned to.
    Array() noexcept = default;

    /// Creates an array (cuArray3DCreate). Its contents are undefined. Errors: invalid_argument for
    /// extents that contradict each other or the shape, and for one over the device's limit, with
    /// both; out_of_memory; device_lost; the driver's own.
    [[nodiscard]] static Result<Array> create(const Device& device, const ArrayExtent& extent,
                                              const ArrayOptions& options = {}) {
        static_assert(ElementFormatOf<T>::value.bytes() == sizeof(T));
        return detail::create_array(device, ElementFormatOf<T>::value, extent, options)
            .map([&](detail::ArrayHandle handle) {
                return Array(std::move(handle), extent, options);
            });
    }

    /// Whether there is an array.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The extents at creation.
    [[nodiscard]] ArrayExtent extent() const noexcept { return extent_; }
    /// The options at creation.
    [[nodiscard]] const ArrayOptions& options() const noexcept { return options_; }
    /// The driver's handle, still owned by this object; also a cudaArray_t.
    [[nodiscard]] NativeArray native() const noexcept { return handle_.get(); }

    /// A view, which has the copies.
    [[nodiscard]] ArrayRef<T> ref() const noexcept {
        return ArrayRef<T>({handle_.get(), handle_.owner().get(), extent_, sizeof(T)});
    }
    /// Fills the array from the host and waits.
    [[nodiscard]] Status copy_from(std::span<const T> from) const { return ref().copy_from(from); }
    /// Fills `to` from the array and waits.
    [[nodiscard]] Status copy_to(std::span<T> to) const { return ref().copy_to(to); }
    /// All elements; waits.
    [[nodiscard]] Result<std::vector<T>> to_vector() const { return ref().to_vector(); }

    /// For lode's own components, not for hosts.
    [[nodiscard]] const detail::ArrayHandle& handle() const noexcept { return handle_; }

private:
    Array(detail::ArrayHandle handle, const ArrayExtent& extent, const ArrayOptions& options)
        : handle_(std::move(handle)), extent_(extent), options_(options) {}

    detail::ArrayHandle handle_;
    ArrayExtent extent_;
    ArrayOptions options_;
};

/// Owns a mipmapped array: levels whose extents halve. Move-only; keeps the device alive. Views of
/// its levels, and textures of it, become invalid with it. A default-constructed or moved-from one
/// is empty.
template <class T>
class MipmappedArray {
public:
    /// An empty array, to be assigned to.
    MipmappedArray() noexcept = default;

    /// Creates an array of `levels` levels (cuMipmappedArrayCreate). Errors: those of
    /// Array::create(), and invalid_argument for more levels than the extents have.
    [[nodiscard]] static Result<MipmappedArray> create(const Device& device,
                                                       const ArrayExtent& extent, unsigned levels,
                                                       const ArrayOptions& options = {}) {
        static_assert(ElementFormatOf<T>::value.bytes() == sizeof(T));
        return detail::create_mipmapped_array(device, ElementFormatOf<T>::value, extent, options,
                                              levels)
            .map([&](detail::MipmappedArrayHandle handle) {
                return MipmappedArray(std::move(handle), extent, options, levels);
            });
    }

    /// Whether there is an array.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The number of levels.
    [[nodiscard]] unsigned levels() const noexcept { return levels_; }
    /// A view of a level; 0 is the largest. Errors: invalid_argument if there is no such level.
    [[nodiscard]] Result<ArrayRef<T>> level(unsigned number) const {
        return detail::level_of(handle_, extent_, options_.shape, sizeof(T), levels_, number)
            .map([](const detail::ArrayPlace& place) { return ArrayRef<T>(place); });
    }
    /// The driver's handle, still owned by this object.
    [[nodiscard]] NativeMipmappedArray native() const noexcept { return handle_.get(); }

    /// For lode's own components, not for hosts.
    [[nodiscard]] const detail::MipmappedArrayHandle& handle() const noexcept { return handle_; }

private:
    MipmappedArray(detail::MipmappedArrayHandle handle, const ArrayExtent& extent,
                   const ArrayOptions& options, unsigned levels)
        : handle_(std::move(handle)), extent_(extent), options_(options), levels_(levels) {}

    detail::MipmappedArrayHandle handle_;
    ArrayExtent extent_;
    ArrayOptions options_;
    unsigned levels_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
