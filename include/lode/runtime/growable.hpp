/// \file
/// Device memory that grows in place.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
/// Reserved addresses and the physical memory that is mapped there.
struct MappedMemory;
struct MappedMemoryDeleter {
    void operator()(MappedMemory* memory) const noexcept;
};
using MappedMemoryHandle = std::unique_ptr<MappedMemory, MappedMemoryDeleter>;

/// Reserves addresses for `count` elements of `size` bytes and maps nothing.
[[nodiscard]] Result<MappedMemoryHandle> reserve_mapped(const std::shared_ptr<DeviceState>& device,
                                                        std::size_t count, std::size_t size);
/// Maps memory, or unmaps whole chunks, so that `bytes` are in use. Null is an empty buffer.
[[nodiscard]] Status resize_mapped(MappedMemory* memory, std::size_t bytes);
[[nodiscard]] Status set_mapped_access(MappedMemory* memory, const DeviceState& peer,
                                       bool accessible);
[[nodiscard]] DeviceMemoryRef mapped_view(const MappedMemory* memory) noexcept;
/// Bytes of physical memory.
[[nodiscard]] std::size_t mapped_bytes(const MappedMemory* memory) noexcept;
/// Bytes of addresses.
[[nodiscard]] std::size_t reserved_bytes(const MappedMemory* memory) noexcept;
}  // namespace detail

/// Owns `size()` elements of T in device memory that grows up to `max_size()` without a copy: its
/// address never changes (cuMemAddressReserve, cuMemCreate, cuMemMap).
///
/// Reserving addresses costs no memory. Memory is mapped in units of the device's granularity, 2
/// MiB on today's GPUs. New elements have undefined content. Pointers, spans and running work stay
/// valid when it grows.
///
/// Move-only; keeps the device alive. Not thread-safe: growing and shrinking need the only access
/// to the object, but not to the memory. A default-constructed or moved-from buffer belongs to no
/// device, and every use fails with invalid_argument.
template <class T>
class GrowableBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// A buffer without a device, to be assigned to.
    GrowableBuffer() noexcept = default;
    /// Leaves `other` without a device.
    GrowableBuffer(GrowableBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    /// Frees the current memory and takes over the other's.
    GrowableBuffer& operator=(GrowableBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// A buffer of no elements, with addresses for at least `max_size` of them. Errors:
    /// not_supported if the device has no virtual memory management; invalid_argument for 0;
    /// out_of_memory if the address space is exhausted.
    [[nodiscard]] static Result<GrowableBuffer> reserve(const Device& device,
                                                        std::size_t max_size) {
        return detail::reserve_mapped(device.state(), max_size, sizeof(T))
            .map([](detail::MappedMemoryHandle memory) {
                return GrowableBuffer(std::move(memory));
            });
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return memory_ != nullptr; }
    /// Elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes of the elements.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Whether it has no elements.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Elements that fit into the memory that is mapped now.
    [[nodiscard]] std::size_t capacity() const noexcept {
        return detail::mapped_bytes(memory_.get()) / sizeof(T);
    }
    /// Elements that fit into the reserved addresses.
    [[nodiscard]] std::size_t max_size() const noexcept {
        return detail::reserved_bytes(memory_.get()) / sizeof(T);
    }
    /// The device address, which never changes. The host must not dereference it.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(native()); }
    /// The device address in the driver API's type.
    [[nodiscard]] NativeDevicePointer native() const noexcept { return view().address; }

    /// A view of all elements, valid until the buffer shrinks below them.
    [[nodiscard]] DeviceSpan<T> span() noexcept { return DeviceSpan<T>(view(), size_); }
    /// The same, read-only.
    [[nodiscard]] DeviceSpan<const T> span() const noexcept {
        return DeviceSpan<const T>(view(), size_);
    }
    /// span()
    operator DeviceSpan<T>() noexcept { return span(); }
    /// span()
    operator DeviceSpan<const T>() const noexcept { return span(); }

    /// Sets the number of elements. Growing maps memory where it is needed and keeps all elements;
    /// shrinking returns what whole units hold beyond the new size, waits for all work on the
    /// device first, and keeps the other elements. Errors: out_of_memory; invalid_argument beyond
    /// max_size(). After an error the size is as before.
    [[nodiscard]] Status resize(std::size_t size) {
        if (size > max_size()) size = max_size() + 1;  // Is refused without an overflow.
        return detail::resize_mapped(memory_.get(), size * sizeof(T)).map([&] { size_ = size; });
    }

    /// Lets kernels on `peer` access the memory, present and future, or forbids it. The buffer's
    /// own device always has access. Errors: not_supported where the devices aren't linked.
    [[nodiscard]] Status set_access(const Device& peer, bool accessible) {
        return detail::set_mapped_access(memory_.get(), *peer.state(), accessible);
    }

private:
    explicit GrowableBuffer(detail::MappedMemoryHandle memory) noexcept
        : memory_(std::move(memory)) {}
    [[nodiscard]] detail::DeviceMemoryRef view() const noexcept {
        return detail::mapped_view(memory_.get());
    }

    detail::MappedMemoryHandle memory_;
    std::size_t size_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
