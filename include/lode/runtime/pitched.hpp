/// \file
/// Device memory of two and three dimensions whose rows are padded for alignment.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/box.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
/// Rows of bytes in slices, in device memory.
struct PitchedMemory {
    DeviceMemoryRef memory;
    std::size_t pitch = 0;       ///< Bytes from row to row.
    std::size_t slice_rows = 0;  ///< Rows from slice to slice.
};
/// The same in host memory.
template <class Pointer>
struct HostRows {
    Pointer address = nullptr;
    std::size_t pitch = 0;
    std::size_t slice_rows = 0;
};

// The untyped implementations; `box` is in bytes, rows and slices. If `stream` is null, the call
// waits for all work on the device and blocks until it is done.
[[nodiscard]] Status copy_box_to_device(const PitchedMemory& to, const HostRows<const void*>& from,
                                        BoxExtent box, const StreamRef* stream);
[[nodiscard]] Status copy_box_to_host(const PitchedMemory& from, const HostRows<void*>& to,
                                      BoxExtent box, const StreamRef* stream);
[[nodiscard]] Status copy_box_on_device(const PitchedMemory& to, const PitchedMemory& from,
                                        BoxExtent box, const StreamRef* stream);
/// Repeats a pattern of 1, 2 or 4 bytes; `box` is in patterns, rows and slices.
[[nodiscard]] Status fill_box(const PitchedMemory& memory, const void* pattern,
                              std::size_t pattern_bytes, BoxExtent box, const StreamRef* stream);

struct PitchedAllocation {
    DeviceMemory memory;
    std::size_t pitch = 0;
};
[[nodiscard]] Result<PitchedAllocation> allocate_pitched(const Device& device, BoxExtent extent,
                                                         std::size_t element_bytes);
}  // namespace detail

/// A view of a box of elements in pitched device memory; T may be const. A `PitchedBuffer<T>`
/// converts to it.
///
/// The element (x, y, z) is at the address `data()` + (z × slice_rows() + y) × pitch() bytes +
/// x elements (Programming Guide 3.2.2). Pass the span where a kernel expects a `T*`, and pitch()
/// for its pitch. Like a DeviceSpan it is trivially copyable, keeps nothing alive, belongs to the
/// device of its memory, and may be used by several threads, if the caller orders the work.
///
/// Calls without a stream first wait for all work on the device and return when they are done.
/// Errors of every call: invalid_argument for an empty span and boxes of different sizes;
/// device_lost and the driver's own; of the asynchronous ones also invalid_argument for a stream of
/// another device.
template <class T>
class PitchedSpan {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// T without const.
    using Value = std::remove_cv_t<T>;

    /// A span without memory, to be assigned to.
    constexpr PitchedSpan() noexcept = default;
    /// A read-only view of the same box.
    template <class U>
    requires std::is_same_v<T, const U>
    constexpr PitchedSpan(PitchedSpan<U> other) noexcept
        : memory_(other.memory()), extent_(other.extent()) {}

    /// Its size in elements.
    [[nodiscard]] constexpr BoxExtent extent() const noexcept { return extent_; }
    /// Bytes from the start of a row to that of the next.
    [[nodiscard]] constexpr std::size_t pitch() const noexcept { return memory_.pitch; }
    /// Rows from the start of a slice to that of the next.
    [[nodiscard]] constexpr std::size_t slice_rows() const noexcept { return memory_.slice_rows; }
    /// The address of the first element. The host must not dereference it.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(native()); }
    /// The address in the driver API's type.
    [[nodiscard]] constexpr NativeDevicePointer native() const noexcept {
        return memory_.memory.address;
    }

    /// The part of this size at `offset`.
    /// Errors: invalid_argument if it doesn't lie within the span.
    [[nodiscard]] Result<PitchedSpan> box(BoxOffset offset, BoxExtent part) const {
        return detail::check_box(offset, part, extent_).map([&] {
            detail::PitchedMemory memory = memory_;
            memory.memory.address += address_of(offset);
            return PitchedSpan(memory, part);
        });
    }
    /// The elements of one row. Errors: invalid_argument if there is no such row.
    [[nodiscard]] Result<DeviceSpan<T>> row(std::size_t y, std::size_t z = 0) const {
        return detail::check_box({0, y, z}, {extent_.width, 1, 1}, extent_).map([&] {
            return DeviceSpan<T>({native() + address_of({0, y, z}), memory_.memory.device},
                                 extent_.width);
        });
    }

    /// Copies from the host, from rows without padding, and waits.
    [[nodiscard]] Status copy_from(std::span<const T> from) const requires(!std::is_const_v<T>) {
        return HostBox<const T>::over(from, extent_).and_then([&](HostBox<const T> box) {
            return copy_from(box);
        });
    }
    /// Copies from a box in host memory and waits.
    [[nodiscard]] Status copy_from(HostBox<const T> from) const requires(!std::is_const_v<T>) {
        return from_host(from, nullptr);
    }
    /// Copies from pitched memory, which may be on another device of the same driver, and waits for
    /// both devices.
    [[nodiscard]] Status copy_from(PitchedSpan<const T> from) const requires(!std::is_const_v<T>) {
        return from_device(from, nullptr);
    }
    /// Copies to the host, to rows without padding, and waits.
    [[nodiscard]] Status copy_to(std::span<Value> to) const {
        return HostBox<Value>::over(to, extent_).and_then([&](HostBox<Value> box) {
            return copy_to(box);
        });
    }
    /// Copies to a box in host memory and waits.
    [[nodiscard]] Status copy_to(HostBox<Value> to) const { return to_host(to, nullptr); }
    /// Copies all elements to a host vector, row after row and slice after slice, and waits.
    [[nodiscard]] Result<std::vector<Value>> to_vector() const
        requires(!std::is_same_v<Value, bool>) {
        std::vector<Value> values(extent_.volume());
        return copy_to(values).map([&] { return std::move(values); });
    }

    /// Enqueues a copy from a box in host memory, which must stay alive until the copy is done.
    [[nodiscard]] Status copy_from_async(StreamRef stream, HostBox<const T> from) const
        requires(!std::is_const_v<T>) {
        return from_host(from, &stream);
    }
    /// Enqueues a copy from pitched memory; `stream` may belong to either device.
    [[nodiscard]] Status copy_from_async(StreamRef stream, PitchedSpan<const T> from) const
        requires(!std::is_const_v<T>) {
        return from_device(from, &stream);
    }
    /// Enqueues a copy to a box in host memory, which must stay alive until the copy is done.
    [[nodiscard]] Status copy_to_async(StreamRef stream, HostBox<Value> to) const {
        return to_host(to, &stream);
    }

    /// Sets every element and waits. Only for T of 1, 2 or 4 bytes (cuMemsetD2D8, D2D16, D2D32).
    /// The padding may be overwritten.
    [[nodiscard]] Status fill(const T& value) const requires detail::Fillable<T> {
        return detail::fill_box(memory_, &value, sizeof(T), extent_, nullptr);
    }
    /// Enqueues the same.
    [[nodiscard]] Status fill_async(StreamRef stream,
                                    const T& value) const requires detail::Fillable<T> {
        return detail::fill_box(memory_, &value, sizeof(T), extent_, &stream);
    }
    /// Sets every byte of every element to zero and waits.
    [[nodiscard]] Status zero() const requires(!std::is_const_v<T>) {
        constexpr unsigned char nothing = 0;
        return detail::fill_box(memory_, &nothing, 1, in_bytes(), nullptr);
    }
    /// Enqueues the same.
    [[nodiscard]] Status zero_async(StreamRef stream) const requires(!std::is_const_v<T>) {
        constexpr unsigned char nothing = 0;
        return detail::fill_box(memory_, &nothing, 1, in_bytes(), &stream);
    }

    /// For lode's own components, not for hosts.
    constexpr explicit PitchedSpan(detail::PitchedMemory memory, BoxExtent extent) noexcept
        : memory_(memory), extent_(extent) {}
    /// For lode's own components, not for hosts.
    [[nodiscard]] constexpr const detail::PitchedMemory& memory() const noexcept { return memory_; }
    /// For lode's own components, not for hosts: the memory's device, or null.
    [[nodiscard]] constexpr const detail::DeviceState* owner() const noexcept {
        return memory_.memory.device;
    }

private:
    template <class Pointer, class U>
    [[nodiscard]] static detail::HostRows<Pointer> rows_of(HostBox<U> box) noexcept {
        return {box.data(), box.row_elements() * sizeof(T), box.slice_rows()};
    }
    [[nodiscard]] std::size_t address_of(BoxOffset offset) const noexcept {
        return (offset.z * slice_rows() + offset.y) * pitch() + offset.x * sizeof(T);
    }
    [[nodiscard]] BoxExtent in_bytes() const noexcept {
        return {extent_.width * sizeof(T), extent_.height, extent_.depth};
    }
    [[nodiscard]] Status from_host(HostBox<const T> from, const StreamRef* stream) const {
        return detail::check_same_extent(from.extent(), extent_).and_then([&] {
            return detail::copy_box_to_device(memory_, rows_of<const void*>(from), in_bytes(),
                                              stream);
        });
    }
    [[nodiscard]] Status to_host(HostBox<Value> to, const StreamRef* stream) const {
        return detail::check_same_extent(to.extent(), extent_).and_then([&] {
            return detail::copy_box_to_host(memory_, rows_of<void*>(to), in_bytes(), stream);
        });
    }
    [[nodiscard]] Status from_device(PitchedSpan<const T> from, const StreamRef* stream) const {
        return detail::check_same_extent(from.extent(), extent_).and_then([&] {
            return detail::copy_box_on_device(memory_, from.memory(), in_bytes(), stream);
        });
    }

    detail::PitchedMemory memory_;
    BoxExtent extent_{0, 0, 0};
};

/// Owns a box of elements in device memory whose rows start at aligned addresses, so that a warp
/// reads each row with as few transactions as possible (cuMemAllocPitch; Programming Guide 5.3.2).
///
/// Move-only; keeps the device alive. A default-constructed or moved-from buffer belongs to no
/// device: copies, fills and launches with it fail with invalid_argument. Must outlive the work
/// that uses it.
template <class T>
class PitchedBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// Memory with undefined content. A box of no elements is allowed and allocates nothing.
    /// Errors: out_of_memory with the requested and the free size; invalid_argument for rows longer
    /// than the device's largest pitch.
    [[nodiscard]] static Result<PitchedBuffer> allocate(const Device& device, BoxExtent extent) {
        return detail::allocate_pitched(device, extent, sizeof(T))
            .map([&](detail::PitchedAllocation made) {
                return PitchedBuffer(std::move(made), extent);
            });
    }

    /// A buffer without a device, to be assigned to.
    PitchedBuffer() noexcept = default;
    /// Leaves `other` without a device.
    PitchedBuffer(PitchedBuffer&& other) noexcept
        : memory_(std::move(other.memory_)),
          pitch_(std::exchange(other.pitch_, 0)),
          extent_(std::exchange(other.extent_, BoxExtent{0, 0, 0})) {}
    /// Frees the current memory and takes over the other's.
    PitchedBuffer& operator=(PitchedBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            pitch_ = std::exchange(other.pitch_, 0);
            extent_ = std::exchange(other.extent_, BoxExtent{0, 0, 0});
        }
        return *this;
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return memory_.owner() != nullptr; }
    /// Its size in elements.
    [[nodiscard]] BoxExtent extent() const noexcept { return extent_; }
    /// Bytes from the start of a row to that of the next.
    [[nodiscard]] std::size_t pitch() const noexcept { return pitch_; }
    /// The address of the first element; nullptr if there is none.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }

    /// A view of the whole box, valid as long as the buffer; its copies and fills are the buffer's.
    [[nodiscard]] PitchedSpan<T> span() noexcept { return PitchedSpan<T>(rows(), extent_); }
    /// The same, read-only.
    [[nodiscard]] PitchedSpan<const T> span() const noexcept {
        return PitchedSpan<const T>(rows(), extent_);
    }
    /// span()
    operator PitchedSpan<T>() noexcept { return span(); }
    /// span()
    operator PitchedSpan<const T>() const noexcept { return span(); }

    /// For lode's own components, not for hosts: the memory's device, or null.
    [[nodiscard]] const detail::DeviceState* owner() const noexcept {
        return memory_.owner().get();
    }

private:
    PitchedBuffer(detail::PitchedAllocation made, BoxExtent extent) noexcept
        : memory_(std::move(made.memory)), pitch_(made.pitch), extent_(extent) {}
    [[nodiscard]] detail::PitchedMemory rows() const noexcept {
        return {{memory_.get(), memory_.owner().get()}, pitch_, extent_.height};
    }

    detail::DeviceMemory memory_;
    std::size_t pitch_ = 0;
    BoxExtent extent_{0, 0, 0};
};

namespace detail {
template <class T>
inline constexpr bool is_device_memory<PitchedSpan<T>> = true;
template <class T>
inline constexpr bool is_device_memory<PitchedBuffer<T>> = true;
}  // namespace detail

}  // namespace LODE_NAMESPACE

LODE_API_END
