/// \file
/// Device memory and events of other processes, by handles that are plain bytes.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/memory.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

struct IpcMemoryHandle;

namespace detail {
/// Another process's memory; the handle is the address of the whole allocation.
struct IpcMemoryTraits {
    using Handle = NativeDevicePointer;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using IpcMemory = UniqueHandle<IpcMemoryTraits>;

[[nodiscard]] Result<IpcMemoryHandle> name_memory(DeviceMemoryRef memory, std::size_t bytes);
/// Opens the memory if the handle's part is a whole number of elements.
[[nodiscard]] Result<IpcMemory> open_memory(const std::shared_ptr<DeviceState>& device,
                                            const IpcMemoryHandle& handle, std::size_t size,
                                            std::size_t align);
}  // namespace detail

/// Names device memory for other processes on this machine (Programming Guide 3.2.8). Plain bytes:
/// send them over a pipe or a socket, or put them into a file or shared host memory.
///
/// A handle keeps nothing alive. The process that made it must keep the memory until every other
/// process has destroyed its IpcBuffer: freeing it earlier is undefined behaviour on a GPU. The
/// processes order their work themselves, for example with an IpcEventHandle.
struct IpcMemoryHandle {
    std::array<std::byte, 64> native{};  ///< The driver's handle (CUipcMemHandle).
    std::uint64_t offset = 0;            ///< Where the memory begins in its allocation, in bytes.
    std::uint64_t bytes = 0;             ///< The size of the memory.

    /// A handle of memory from Device::alloc(), or of a part of it. The driver shares whole
    /// allocations, and small ones share a block: the other process could read what is beside the
    /// part too. Errors: invalid_argument for empty and for any other memory, such as that of a
    /// pool (see MemoryPool::export_buffer()), managed or mapped memory; not_supported if the
    /// driver has no handles.
    template <class T>
    [[nodiscard]] static Result<IpcMemoryHandle> of(DeviceSpan<T> memory) {
        return detail::name_memory(memory.memory(), memory.size_bytes());
    }
    /// A handle of a whole buffer. Errors: the same.
    template <class T>
    [[nodiscard]] static Result<IpcMemoryHandle> of(const DeviceBuffer<T>& buffer) {
        return of(buffer.span());
    }
};

/// Another process's device memory, as `size()` elements of T. Destroying it unmaps the memory, and
/// must happen before the process that made the handle frees it; work that uses the memory must be
/// done.
///
/// Move-only; keeps the device alive. A default-constructed or moved-from buffer belongs to no
/// device, and every use of its span() fails with invalid_argument. Calls from several threads are
/// safe as for a DeviceBuffer.
template <class T>
class IpcBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// A buffer without a device, to be assigned to.
    IpcBuffer() noexcept = default;
    /// Leaves `other` without a device.
    IpcBuffer(IpcBuffer&& other) noexcept
        : memory_(std::move(other.memory_)),
          offset_(std::exchange(other.offset_, 0)),
          size_(std::exchange(other.size_, 0)) {}
    /// Unmaps the current memory and takes over the other's.
    IpcBuffer& operator=(IpcBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            offset_ = std::exchange(other.offset_, 0);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// Maps the memory of a handle (cuIpcOpenMemHandle). The device is the one on which the other
    /// process allocated it, or one with access to that; ordinals may differ between processes.
    /// Errors: invalid_argument for bytes that are no handle, a handle whose process or memory is
    /// gone, a part that isn't a whole number of T, one beyond its allocation where the driver
    /// knows that, and a handle of this process itself; not_supported if the driver has no handles.
    [[nodiscard]] static Result<IpcBuffer> open(const Device& device,
                                                const IpcMemoryHandle& handle) {
        return detail::open_memory(device.state(), handle, sizeof(T), alignof(T))
            .map([&](detail::IpcMemory memory) { return IpcBuffer(std::move(memory), handle); });
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return static_cast<bool>(memory_); }
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

private:
    IpcBuffer(detail::IpcMemory memory, const IpcMemoryHandle& handle) noexcept
        : memory_(std::move(memory)), offset_(handle.offset), size_(handle.bytes / sizeof(T)) {}
    [[nodiscard]] detail::DeviceMemoryRef view() const noexcept {
        if (!memory_) return {};
        return {memory_.get() + offset_, memory_.owner().get()};
    }

    detail::IpcMemory memory_;
    std::size_t offset_ = 0;
    std::size_t size_ = 0;
};

/// Names an event for other processes on this machine. Plain bytes, like an IpcMemoryHandle; keeps
/// nothing alive. The event must live until every other process has opened the handle and is done
/// with its event.
struct IpcEventHandle {
    std::array<std::byte, 64> native{};  ///< The driver's handle (CUipcEventHandle).

    /// A handle of an event. Errors: invalid_argument for an empty event, and for one that wasn't
    /// created with EventOptions{.timing = false, .interprocess = true}; not_supported if the
    /// driver has no handles.
    [[nodiscard]] static Result<IpcEventHandle> of(const Event& event);

    /// The event of a handle (cuIpcOpenEventHandle). Both processes can record it and wait for it:
    /// a wait means the last recording that either has begun by then. Errors: invalid_argument for
    /// bytes that are no handle, a handle whose process or event is gone, and a handle of this
    /// process itself; not_supported if the driver has no handles.
    [[nodiscard]] Result<Event> open(const Device& device) const;
};

static_assert(std::is_trivially_copyable_v<IpcMemoryHandle> &&
              std::is_trivially_copyable_v<IpcEventHandle>);

}  // namespace LODE_NAMESPACE

LODE_API_END
