/// \file
/// Device memory that several processes share through a file descriptor.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/growable.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
/// Maps new memory that can be exported.
[[nodiscard]] Result<MappedMemoryHandle> create_shared(const std::shared_ptr<DeviceState>& device,
                                                       std::size_t count, std::size_t size);
[[nodiscard]] Result<MappedMemoryHandle> import_shared(const std::shared_ptr<DeviceState>& device,
                                                       int descriptor, std::size_t count,
                                                       std::size_t size);
[[nodiscard]] Result<int> export_shared(const MappedMemory* memory);
}  // namespace detail

/// Owns, together with other processes, `size()` elements of T in device memory. The memory is
/// freed when the last owner in any process is destroyed.
///
/// One process creates it and passes the descriptor to the others, over a Unix socket or by
/// inheritance; they import it. The processes must order their work themselves, for example by
/// synchronising before a message. Move-only; keeps the device alive. A default-constructed or
/// moved-from buffer belongs to no device, and every use fails with invalid_argument.
template <class T>
class SharedBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// A buffer without a device, to be assigned to.
    SharedBuffer() noexcept = default;
    /// Leaves `other` without a device.
    SharedBuffer(SharedBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    /// Gives up the current memory and takes over the other's.
    SharedBuffer& operator=(SharedBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// New memory for `count` elements, with undefined content, in whole units of the device's
    /// granularity (2 MiB). Errors: not_supported if the device can't share memory by descriptors;
    /// invalid_argument for 0; out_of_memory.
    [[nodiscard]] static Result<SharedBuffer> create(const Device& device, std::size_t count) {
        return detail::create_shared(device.state(), count, sizeof(T))
            .map([&](detail::MappedMemoryHandle memory) {
                return SharedBuffer(std::move(memory), count);
            });
    }
    /// The memory of a descriptor from export_descriptor(), in this process or another, on the same
    /// GPU. `count` must be what create() was given. The descriptor stays the caller's and may be
    /// closed afterwards. Errors: invalid_argument for a descriptor of anything else; those of
    /// create().
    [[nodiscard]] static Result<SharedBuffer> import(const Device& device, int descriptor,
                                                     std::size_t count) {
        return detail::import_shared(device.state(), descriptor, count, sizeof(T))
            .map([&](detail::MappedMemoryHandle memory) {
                return SharedBuffer(std::move(memory), count);
            });
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return memory_ != nullptr; }
    /// Elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// The device address in this process. The host must not dereference it.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(view().address); }

    /// A view of all elements, valid as long as the buffer.
    [[nodiscard]] DeviceSpan<T> span() noexcept { return DeviceSpan<T>(view(), size_); }
    /// The same, read-only.
    [[nodiscard]] DeviceSpan<const T> span() const noexcept {
        return DeviceSpan<const T>(view(), size_);
    }
    /// span()
    operator DeviceSpan<T>() noexcept { return span(); }
    /// span()
    operator DeviceSpan<const T>() const noexcept { return span(); }

    /// A new descriptor of the memory, which the caller closes; programs that this one starts don't
    /// inherit it unless the caller clears FD_CLOEXEC. It keeps the memory alive.
    [[nodiscard]] Result<int> export_descriptor() const {
        return detail::export_shared(memory_.get());
    }

private:
    SharedBuffer(detail::MappedMemoryHandle memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}
    [[nodiscard]] detail::DeviceMemoryRef view() const noexcept {
        return detail::mapped_view(memory_.get());
    }

    detail::MappedMemoryHandle memory_;
    std::size_t size_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
