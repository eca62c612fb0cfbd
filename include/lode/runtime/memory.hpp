/// \file
/// Device memory and page-locked host memory.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
struct DeviceMemoryTraits {
    using Handle = NativeDevicePointer;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
struct PinnedMemoryTraits {
    using Handle = void*;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using DeviceMemory = UniqueHandle<DeviceMemoryTraits>;
using PinnedMemory = UniqueHandle<PinnedMemoryTraits>;

/// Refuses an empty buffer, and a copy of more elements than fit into the buffer.
[[nodiscard]] Status check_size(const DeviceMemory& memory, std::string_view what,
                                std::size_t given, std::size_t room);
/// The device's address of page-locked host memory; empty memory has the address 0. Refuses a null
/// device.
[[nodiscard]] Result<DeviceMemoryRef> map_host(DeviceState* device, void* address);
}  // namespace detail

/// How page-locked host memory is allocated.
struct PinnedOptions {
    bool portable = true;  ///< Page-locked for every context, not only for the device's.
    /// Not cached by the processor: faster to copy to the device, and very slow to read on the host
    /// (Programming Guide 3.2.4.2).
    bool write_combined = false;
};

namespace detail {
[[nodiscard]] Result<PinnedMemory> allocate_pinned(const Device& device, std::size_t count,
                                                   std::size_t size, const PinnedOptions& options);
}  // namespace detail

/// Owns `size()` elements of T in a device's memory, made by Device::alloc() or Device::upload().
///
/// Move-only; keeps the device alive. A default-constructed, moved-from or released buffer belongs
/// to no device: copies, fills and launches with it fail with invalid_argument.
///
/// Aligned to at least 256 bytes. Pass it where a kernel expects a `T*`; a kernel on another device
/// accepts it after enable_peer_access(). It must outlive the work that uses it. Calls from several
/// threads are safe, but the caller must order copies and kernels that use the same elements.
///
/// Copies take a span, to which any contiguous range converts: an array, a vector, a PinnedBuffer,
/// a C array, const or not. Calls without a stream first wait for all work on the device and return
/// when they are done. Errors of every call: device_lost and the driver's own.
template <class T>
class DeviceBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// A buffer without a device, to be assigned to.
    DeviceBuffer() noexcept = default;
    /// Leaves `other` without a device.
    DeviceBuffer(DeviceBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    /// Frees the current memory and takes over the other's.
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// Whether it belongs to a device. Every buffer made by a Device does, even one of zero
    /// elements.
    explicit operator bool() const noexcept { return memory_.owner() != nullptr; }

    /// Elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Whether it has no elements; then nothing is allocated.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The device address, valid as long as the buffer; nullptr when empty. The host must not
    /// dereference it.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
    /// The device address in the driver API's type.
    [[nodiscard]] NativeDevicePointer native() const noexcept { return memory_.get(); }

    /// A view of all elements, valid as long as the buffer.
    [[nodiscard]] DeviceSpan<T> span() noexcept { return DeviceSpan<T>(memory(), size_); }
    /// The same, read-only.
    [[nodiscard]] DeviceSpan<const T> span() const noexcept {
        return DeviceSpan<const T>(memory(), size_);
    }
    /// span()
    operator DeviceSpan<T>() noexcept { return span(); }
    /// span()
    operator DeviceSpan<const T>() const noexcept { return span(); }

    /// Copies from the host to the start of the buffer and waits.
    /// Errors: invalid_argument if `from` is longer than the buffer.
    [[nodiscard]] Status copy_from(std::span<const T> from) {
        return check_size("a copy to the device", from.size()).and_then([&] {
            return first(from.size()).copy_from(from);
        });
    }
    /// Fills `to` from the start of the buffer and waits.
    /// Errors: invalid_argument if `to` is longer than the buffer.
    [[nodiscard]] Status copy_to(std::span<T> to) const {
        return check_size("a copy to the host", to.size()).and_then([&] {
            return first(to.size()).copy_to(to);
        });
    }
    /// Copies the whole buffer to a host vector and waits. For bool, every nonzero byte is true.
    [[nodiscard]] Result<std::vector<T>> to_vector() const { return span().to_vector(); }

    /// Enqueues a copy from the host on `stream`, which must belong to the buffer's device, and
    /// doesn't wait. Buffer and host memory must stay alive until the copy is done. From pageable
    /// host memory the driver may stage the copy or wait (Programming Guide 3.2.5.1); use a
    /// PinnedBuffer to overlap. Errors: invalid_argument for a longer `from` or a stream of another
    /// device.
    [[nodiscard]] Status copy_from_async(StreamRef stream, std::span<const T> from) {
        return check_size("a copy to the device", from.size()).and_then([&] {
            return first(from.size()).copy_from_async(stream, from);
        });
    }
    /// Enqueues a copy to the host under the same rules.
    [[nodiscard]] Status copy_to_async(StreamRef stream, std::span<T> to) const {
        return check_size("a copy to the host", to.size()).and_then([&] {
            return first(to.size()).copy_to_async(stream, to);
        });
    }
    /// Temporaries don't compile: the copy would read them after their destruction. Name the
    /// object, and keep it until the copy is done.
    template <detail::TemporaryRange Range>
    [[nodiscard]] Status copy_from_async(StreamRef stream, Range&& from) {
        return span().copy_from_async(stream, std::forward<Range>(from));
    }
    /// Temporaries don't compile.
    template <detail::TemporaryRange Range>
    [[nodiscard]] Status copy_to_async(StreamRef stream, Range&& to) const {
        return span().copy_to_async(stream, std::forward<Range>(to));
    }
    /// Enqueues a copy from a buffer or span, which may be shorter and may be on another device of
    /// the same driver (cuMemcpyPeerAsync); `stream` may then belong to either device. The memory
    /// of both must stay alive until the copy is done. Errors: invalid_argument as above.
    [[nodiscard]] Status copy_from_async(StreamRef stream, DeviceSpan<const T> from) {
        return check_size("a copy on the device", from.size()).and_then([&] {
            return first(from.size()).copy_from_async(stream, from);
        });
    }
    /// Copies from a buffer or span, as above, and waits for both devices.
    [[nodiscard]] Status copy_from(DeviceSpan<const T> from) {
        return check_size("a copy on the device", from.size()).and_then([&] {
            return first(from.size()).copy_from(from);
        });
    }

    /// Sets every element and waits. Only for T of 1, 2 or 4 bytes (cuMemsetD8, D16, D32).
    [[nodiscard]] Status fill(const T& value) requires detail::Fillable<T> {
        return span().fill(value);
    }
    /// Enqueues the same on `stream` and doesn't wait.
    /// Errors: invalid_argument for a stream of another device.
    [[nodiscard]] Status fill_async(StreamRef stream, const T& value) requires detail::Fillable<T> {
        return span().fill_async(stream, value);
    }
    /// Sets every byte to zero and waits.
    [[nodiscard]] Status zero() { return span().zero(); }
    /// Enqueues the same on `stream` and doesn't wait.
    /// Errors: invalid_argument for a stream of another device.
    [[nodiscard]] Status zero_async(StreamRef stream) { return span().zero_async(stream); }

    /// Transfers the allocation to the caller, who frees it with cuMemFree. Keep the Device, or
    /// another object made from it, until then: it keeps the primary context.
    [[nodiscard]] NativeDevicePointer release() && noexcept {
        DeviceBuffer emptied(std::move(*this));
        return emptied.memory_.release();
    }

    /// For lode's own components, not for hosts: the memory's device, or null.
    [[nodiscard]] const detail::DeviceState* owner() const noexcept {
        return memory_.owner().get();
    }

private:
    friend class Device;
    DeviceBuffer(detail::DeviceMemory memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}

    [[nodiscard]] detail::DeviceMemoryRef memory() const noexcept {
        return {memory_.get(), memory_.owner().get()};
    }
    [[nodiscard]] DeviceSpan<T> first(std::size_t count) noexcept {
        return DeviceSpan<T>(memory(), count);
    }
    [[nodiscard]] DeviceSpan<const T> first(std::size_t count) const noexcept {
        return DeviceSpan<const T>(memory(), count);
    }
    [[nodiscard]] Status check_size(std::string_view what, std::size_t given) const {
        return detail::check_size(memory_, what, given, size_);
    }

    detail::DeviceMemory memory_;
    std::size_t size_ = 0;
};

/// Owns `size()` elements of page-locked host memory, made by Device::alloc_pinned() or allocate().
///
/// Copies from and to it are faster and overlap with kernels (Best Practices Guide 9.1.1). Kernels
/// can access it through device_span(), at the speed of the bus.
/// Move-only; keeps the device alive; must outlive the copies that use it. A default-constructed or
/// moved-from buffer belongs to no device and has no elements. Like a span, a const buffer gives
/// access to mutable elements; the caller must synchronise access from several threads.
template <class T>
class PinnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "pinned memory holds bytes: T must be trivially copyable");

public:
    /// Memory with undefined content (cuMemHostAlloc). Zero elements are allowed. Errors:
    /// out_of_memory with the requested and the free size.
    [[nodiscard]] static Result<PinnedBuffer> allocate(const Device& device, std::size_t count,
                                                       const PinnedOptions& options = {}) {
        return detail::allocate_pinned(device, count, sizeof(T), options)
            .map([&](detail::PinnedMemory memory) {
                return PinnedBuffer(std::move(memory), count);
            });
    }

    /// A buffer without a device, to be assigned to.
    PinnedBuffer() noexcept = default;
    /// Leaves `other` without a device.
    PinnedBuffer(PinnedBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    /// Frees the current memory and takes over the other's.
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// Whether it belongs to a device. Every buffer made by a Device does.
    explicit operator bool() const noexcept { return memory_.owner() != nullptr; }

    /// Elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The first element; nullptr when there is none.
    [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.get()); }
    /// All elements, as a view that is valid as long as the buffer.
    [[nodiscard]] std::span<T> span() const noexcept { return {data(), size_}; }
    /// The same memory as the device sees it (Programming Guide 3.2.4.3); the address of
    /// write-combined memory may differ from the host's. Host and kernels must not write the same
    /// elements at a time. Errors: invalid_argument for a buffer without a device.
    [[nodiscard]] Result<DeviceSpan<T>> device_span() const {
        return detail::map_host(memory_.owner().get(), memory_.get())
            .map([&](detail::DeviceMemoryRef mapped) { return DeviceSpan<T>(mapped, size_); });
    }
    /// An element; the index isn't checked.
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data()[index]; }
    /// For range-based loops.
    [[nodiscard]] T* begin() const noexcept { return data(); }
    /// Past the last element.
    [[nodiscard]] T* end() const noexcept { return data() + size_; }

private:
    friend class Device;
    PinnedBuffer(detail::PinnedMemory memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}

    detail::PinnedMemory memory_;
    std::size_t size_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
