/// \file
/// Managed memory: one address for the host and every device.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Which streams may access managed memory (Programming Guide J.2.2.3).
enum class ManagedAttachment : std::uint8_t {
    everywhere,  ///< Every stream of every device.
    host,        ///< None, until it is attached to one; so the host may use it meanwhile.
    stream,      ///< Only the stream to which it is attached.
};

/// Where the pages of managed memory should be (cuMemAdvise). Advice changes speed, not results.
enum class ManagedAdvice : std::uint8_t {
    read_mostly,         ///< Each processor that reads it may keep a copy.
    preferred_location,  ///< Pages stay there and are mapped into the others that access them.
    accessed_by,         ///< Keeps the pages mapped into this device, so that it doesn't fault.
};

/// A device's ordinal, or the host.
struct ManagedLocation {
    /// Empty for the host.
    std::optional<int> device;

    /// The host's memory.
    [[nodiscard]] static ManagedLocation host() noexcept { return {}; }
    /// A device's memory.
    [[nodiscard]] static ManagedLocation of(const Device& device) noexcept {
        return {device.ordinal()};
    }
    /// Compares the places.
    friend bool operator==(const ManagedLocation&, const ManagedLocation&) = default;
};

namespace detail {
[[nodiscard]] Result<DeviceMemory> allocate_managed(const std::shared_ptr<DeviceState>& device,
                                                    std::size_t count, std::size_t size,
                                                    ManagedAttachment attachment);
[[nodiscard]] Status prefetch_managed(const DeviceMemory& memory, std::size_t bytes,
                                      StreamRef stream, bool to_host);
[[nodiscard]] Status advise_managed(const DeviceMemory& memory, std::size_t bytes,
                                    ManagedAdvice advice, ManagedLocation where, bool on);
[[nodiscard]] Status attach_managed(const DeviceMemory& memory, StreamRef stream,
                                    ManagedAttachment attachment);
[[nodiscard]] Result<bool> is_read_mostly(const DeviceMemory& memory, std::size_t bytes);
[[nodiscard]] Result<std::optional<ManagedLocation>> managed_location(const DeviceMemory& memory,
                                                                      std::size_t bytes,
                                                                      bool last_prefetch);
}  // namespace detail

/// Owns `size()` elements of T in managed memory (cuMemAllocManaged): the host and every device use
/// the same addresses, and the driver moves the pages.
///
/// Synchronise before the host accesses what a kernel uses. Where `has_concurrent_managed_access()`
/// is false, the host may not access any managed memory while any kernel of the device runs. Memory
/// that is attached to the host or to another stream is an exception (Programming Guide J.2.2).
/// Page faults cost tens of microseconds each: prefetch what a kernel will use.
///
/// Move-only; keeps the device alive. A default-constructed or moved-from buffer belongs to no
/// device, and every use of its span() fails with invalid_argument. Like a span, a const buffer
/// gives the host access to mutable elements.
template <class T>
class ManagedBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "managed memory holds bytes: T must be trivially copyable");

public:
    /// A buffer without a device, to be assigned to.
    ManagedBuffer() noexcept = default;
    /// Leaves `other` without a device.
    ManagedBuffer(ManagedBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    /// Frees the current memory and takes over the other's.
    ManagedBuffer& operator=(ManagedBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// Managed memory for `count` elements, with undefined content. `attachment` is everywhere or
    /// host. Zero elements are allowed and allocate nothing. Errors: not_supported if the device
    /// has no managed memory; out_of_memory; invalid_argument for another attachment.
    [[nodiscard]] static Result<ManagedBuffer> allocate(
        const Device& device, std::size_t count,
        ManagedAttachment attachment = ManagedAttachment::everywhere) {
        return detail::allocate_managed(device.state(), count, sizeof(T), attachment)
            .map([&](detail::DeviceMemory memory) {
                return ManagedBuffer(std::move(memory), count);
            });
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return memory_.owner() != nullptr; }
    /// Elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Whether it has no elements.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The address, on the host and on every device; nullptr when empty.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
    /// The address in the driver API's type.
    [[nodiscard]] NativeDevicePointer native() const noexcept { return memory_.get(); }

    /// All elements for the host, as a view that is valid as long as the buffer.
    [[nodiscard]] std::span<T> host() const noexcept { return {data(), size_}; }
    /// An element for the host; the index isn't checked.
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data()[index]; }
    /// All elements for launches and copies of the buffer's device, as a view that is valid as long
    /// as the buffer. For other devices pass data().
    [[nodiscard]] DeviceSpan<T> span() noexcept { return DeviceSpan<T>(view(), size_); }
    /// The same, read-only.
    [[nodiscard]] DeviceSpan<const T> span() const noexcept {
        return DeviceSpan<const T>(view(), size_);
    }
    /// span()
    operator DeviceSpan<T>() noexcept { return span(); }
    /// span()
    operator DeviceSpan<const T>() const noexcept { return span(); }

    /// Enqueues moving all pages to the stream's device, which needn't be the buffer's
    /// (cuMemPrefetchAsync). Errors: not_supported if that device has no concurrent managed access;
    /// invalid_argument for an empty buffer or stream.
    [[nodiscard]] Status prefetch_async(StreamRef stream) const {
        return detail::prefetch_managed(memory_, size_bytes(), stream, false);
    }
    /// Enqueues moving all pages to the host's memory. Errors: the same.
    [[nodiscard]] Status prefetch_to_host_async(StreamRef stream) const {
        return detail::prefetch_managed(memory_, size_bytes(), stream, true);
    }

    /// Gives advice about a place, or takes it back if `on` is false; read_mostly applies to all
    /// places. Errors: not_supported for a device without concurrent managed access.
    [[nodiscard]] Status advise(ManagedAdvice advice, ManagedLocation where, bool on = true) const {
        return detail::advise_managed(memory_, size_bytes(), advice, where, on);
    }

    /// Whether ManagedAdvice::read_mostly is in force for all pages.
    [[nodiscard]] Result<bool> is_read_mostly() const {
        return detail::is_read_mostly(memory_, size_bytes());
    }
    /// The preferred location of all pages; empty without one, or if pages differ.
    [[nodiscard]] Result<std::optional<ManagedLocation>> preferred_location() const {
        return detail::managed_location(memory_, size_bytes(), false);
    }
    /// Where all pages were last prefetched to; empty if they weren't, or if pages differ.
    [[nodiscard]] Result<std::optional<ManagedLocation>> last_prefetch() const {
        return detail::managed_location(memory_, size_bytes(), true);
    }

    /// Restricts which streams may access the memory, from this point of `stream` on
    /// (cuStreamAttachMemAsync). Useful only without concurrent managed access.
    /// Errors: invalid_argument for a stream of another device or an empty buffer.
    [[nodiscard]] Status attach_async(StreamRef stream, ManagedAttachment attachment) const {
        return detail::attach_managed(memory_, stream, attachment);
    }

private:
    ManagedBuffer(detail::DeviceMemory memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}
    [[nodiscard]] detail::DeviceMemoryRef view() const noexcept {
        return {memory_.get(), memory_.owner().get()};
    }

    detail::DeviceMemory memory_;
    std::size_t size_ = 0;
};

/// Whether the host and kernels of the device may use managed memory at the same time.
[[nodiscard]] Result<bool> has_concurrent_managed_access(const Device& device);

}  // namespace LODE_NAMESPACE

LODE_API_END
