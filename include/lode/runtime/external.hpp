/// \file
/// Memory and semaphores of graphics APIs such as Vulkan, imported by file descriptor.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
struct ExternalMemoryTraits {
    using Handle = NativeExternalMemory;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
struct ExternalSemaphoreTraits {
    using Handle = NativeExternalSemaphore;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};

/// A part of mapped memory that begins `offset` bytes after its start.
[[nodiscard]] Result<DeviceMemoryRef> external_part(const DeviceMemory& mapped, std::size_t room,
                                                    std::size_t offset, std::size_t count,
                                                    std::size_t size, std::size_t align);
}  // namespace detail

/// Device memory that another API allocated and exported as an opaque file descriptor (Vulkan's
/// VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT), mapped as a buffer. Both APIs must use the same
/// GPU: compare DeviceProperties::uuid with Vulkan's deviceUUID. The program orders their work, for
/// example with an ExternalSemaphore.
///
/// On the software device it is any file in memory that can be read and written, such as that of
/// memfd_create().
///
/// Move-only; keeps the device alive; must outlive its spans and the work that uses them. A
/// default-constructed or moved-from object is empty, and span() fails with invalid_argument.
class ExternalMemory {
public:
    /// No memory, to be assigned to.
    ExternalMemory() noexcept = default;
    /// Leaves `other` empty.
    ExternalMemory(ExternalMemory&& other) noexcept
        : handle_(std::move(other.handle_)),
          mapped_(std::move(other.mapped_)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    /// Gives up the current memory and takes over the other's.
    ExternalMemory& operator=(ExternalMemory&& other) noexcept {
        if (this != &other) {
            mapped_ = std::move(other.mapped_);  // Before its memory.
            handle_ = std::move(other.handle_);
            bytes_ = std::exchange(other.bytes_, 0);
        }
        return *this;
    }

    /// Imports and maps memory (cuImportExternalMemory, cuExternalMemoryGetMappedBuffer). `bytes`
    /// is the size of the whole allocation in the other API, and `dedicated` says whether that made
    /// it for one buffer or image alone.
    ///
    /// If this succeeds, it takes the descriptor, which the caller must not use or close any more;
    /// duplicate it before to keep one. If it fails, the descriptor stays the caller's. Errors:
    /// invalid_argument for 0 bytes and for a descriptor of anything else or of less memory;
    /// not_supported; out_of_memory.
    [[nodiscard]] static Result<ExternalMemory> import(const Device& device, int descriptor,
                                                       std::size_t bytes, bool dedicated = false);

    /// Whether there is memory.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The size of all memory.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
    /// The driver's handle, still owned by this object; also a cudaExternalMemory_t.
    [[nodiscard]] NativeExternalMemory native() const noexcept { return handle_.get(); }

    /// `count` elements from byte `offset` on, valid as long as this object. Errors:
    /// invalid_argument for an empty object, a part that ends after the memory, and an address that
    /// isn't aligned for T.
    template <class T>
    [[nodiscard]] Result<DeviceSpan<T>> span(std::size_t offset, std::size_t count) const {
        return detail::external_part(mapped_, bytes_, offset, count, sizeof(T), alignof(T))
            .map([&](detail::DeviceMemoryRef part) { return DeviceSpan<T>(part, count); });
    }

private:
    ExternalMemory(UniqueHandle<detail::ExternalMemoryTraits> handle, detail::DeviceMemory mapped,
                   std::size_t bytes) noexcept
        : handle_(std::move(handle)), mapped_(std::move(mapped)), bytes_(bytes) {}

    UniqueHandle<detail::ExternalMemoryTraits> handle_;
    detail::DeviceMemory mapped_;  ///< Is unmapped before its memory is given up.
    std::size_t bytes_ = 0;
};

/// What kind of semaphore a descriptor is of.
enum class ExternalSemaphoreKind : std::uint8_t {
    timeline,  ///< Vulkan's timeline semaphore: a counter that only grows.
    binary,    ///< Vulkan's binary semaphore: each wait takes one signal.
};

/// A semaphore of another API (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT), which orders a
/// stream's work with that API's work. Neither call blocks the host.
///
/// On the software device it is any file in memory that can be read and written and has at least 8
/// bytes; these are the counter, in the processor's byte order. A binary semaphore is 1 while it is
/// signalled. Values that a program stores there itself are noticed within 100 ms.
///
/// Move-only; keeps the device alive; must outlive the work that uses it. Calls from several
/// threads are safe. A default-constructed or moved-from semaphore is empty: every use fails with
/// invalid_argument.
class ExternalSemaphore {
public:
    /// An empty semaphore, to be assigned to.
    ExternalSemaphore() noexcept = default;

    /// Imports a semaphore (cuImportExternalSemaphore). The descriptor is handled as by
    /// ExternalMemory::import(). Errors: invalid_argument for a descriptor of anything else;
    /// not_supported.
    [[nodiscard]] static Result<ExternalSemaphore> import(
        const Device& device, int descriptor,
        ExternalSemaphoreKind kind = ExternalSemaphoreKind::timeline);

    /// Whether there is a semaphore.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The driver's handle, still owned by this object; also a cudaExternalSemaphore_t.
    [[nodiscard]] NativeExternalSemaphore native() const noexcept { return handle_.get(); }

    /// Makes later work on the stream wait until a timeline semaphore has at least this value, or
    /// until a binary one is signalled, whatever the value. The signal must already be submitted,
    /// here or in the other API, or come from the host: a stream that waits for ever keeps its
    /// device from synchronising. Errors: invalid_argument for a stream of another device;
    /// device_lost.
    [[nodiscard]] Status wait_async(StreamRef stream, std::uint64_t value = 0) const;
    /// Sets a timeline semaphore to this value, which must be greater than all before, or signals a
    /// binary one, when all work so far on the stream is done. Errors: the same.
    [[nodiscard]] Status signal_async(StreamRef stream, std::uint64_t value = 0) const;

private:
    explicit ExternalSemaphore(UniqueHandle<detail::ExternalSemaphoreTraits> handle) noexcept
        : handle_(std::move(handle)) {}

    UniqueHandle<detail::ExternalSemaphoreTraits> handle_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
