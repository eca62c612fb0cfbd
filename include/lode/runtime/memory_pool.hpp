/// \file
/// Stream-ordered memory: pools, and buffers that a stream allocates and frees.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/device_span.hpp>
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

namespace detail {
struct MemoryPoolOwner {
    std::shared_ptr<DeviceState> device;
    bool owned = false;
};
struct MemoryPoolTraits {
    using Handle = NativeMemoryPool;
    using Owner = MemoryPoolOwner;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};

/// The device, and the stream that frees the memory.
struct StreamMemoryOwner {
    std::shared_ptr<DeviceState> device;
    NativeStream stream = nullptr;
    bool captured = false;  ///< Whether a graph allocates the memory.
};
struct StreamMemoryTraits {
    using Handle = NativeDevicePointer;
    using Owner = StreamMemoryOwner;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using StreamMemory = UniqueHandle<StreamMemoryTraits>;

/// Allocates from the pool, or from the device's current pool if that is null.
[[nodiscard]] Result<StreamMemory> allocate_on_stream(const std::shared_ptr<DeviceState>& device,
                                                      NativeMemoryPool pool, StreamRef stream,
                                                      std::size_t count, std::size_t size);
/// Checks that a stream can free the memory.
[[nodiscard]] Status check_freeing_stream(const StreamMemory& memory, StreamRef stream);
}  // namespace detail

/// Names a buffer of a shared pool for other processes that have imported the pool. Plain bytes:
/// send them over a pipe or a socket. Keeps nothing alive.
struct PoolMemoryHandle {
    std::array<std::byte, 64> native{};  ///< The driver's description (CUmemPoolPtrExportData).
    std::uint64_t bytes = 0;             ///< The size of the buffer.
};

/// Owns `size()` elements of T in device memory that is allocated and freed in the order of a
/// stream (cuMemAllocAsync, cuMemFreeAsync), which is much cheaper than Device::alloc() once the
/// pool has memory.
///
/// Other streams may use it after waiting for an event that is recorded on its stream after the
/// allocation. The destructor frees it on its stream without waiting: work that was submitted to
/// that stream before may still use it; work on other streams must be finished or waited for by the
/// stream. The stream must outlive the buffer; free_on() chooses another.
///
/// On a stream that is being captured, the allocation and the free become nodes of the graph, whose
/// launches all use the same address. Such a buffer must be destroyed before Capture::finish(),
/// which fails otherwise. A buffer from before the capture that is destroyed on a capturing stream
/// is freed outside of the capture, after all work of the device.
///
/// Move-only; keeps the device alive. A default-constructed or moved-from buffer belongs to no
/// device, and every use of its span() fails with invalid_argument. Pass span() to launches and
/// copies. Calls from several threads are safe as for a DeviceBuffer.
template <class T>
class AsyncBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// A buffer without a device, to be assigned to.
    AsyncBuffer() noexcept = default;
    /// Leaves `other` without a device.
    AsyncBuffer(AsyncBuffer&& other) noexcept
        : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
    /// Frees the current memory and takes over the other's.
    AsyncBuffer& operator=(AsyncBuffer&& other) noexcept {
        if (this != &other) {
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    /// Memory for `count` elements from the device's current pool, with undefined content, for work
    /// that is submitted to `stream` from now on. Zero elements are allowed and allocate nothing.
    /// Errors: not_supported if the device has no pools; out_of_memory; invalid_argument for a
    /// stream of another device.
    [[nodiscard]] static Result<AsyncBuffer> allocate(const Device& device, StreamRef stream,
                                                      std::size_t count) {
        return detail::allocate_on_stream(device.state(), nullptr, stream, count, sizeof(T))
            .map(
                [&](detail::StreamMemory memory) { return AsyncBuffer(std::move(memory), count); });
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return memory_.owner().device != nullptr; }
    /// Elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Bytes.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Whether it has no elements.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The device address; nullptr when empty. The host must not dereference it.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
    /// The device address in the driver API's type.
    [[nodiscard]] NativeDevicePointer native() const noexcept { return memory_.get(); }

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

    /// Makes `stream` the one that frees the memory, for example the last that uses it. The caller
    /// orders it after the other streams' uses. Errors: invalid_argument for a stream of another
    /// device and for an empty buffer.
    [[nodiscard]] Status free_on(StreamRef stream) {
        return detail::check_freeing_stream(memory_, stream).map([&] {
            auto device = memory_.owner().device;
            const bool captured = memory_.owner().captured;
            const NativeDevicePointer address = memory_.release();
            memory_ = detail::StreamMemory(address, {std::move(device), stream.native(), captured});
        });
    }

private:
    friend class MemoryPool;
    AsyncBuffer(detail::StreamMemory memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}
    [[nodiscard]] detail::DeviceMemoryRef view() const noexcept {
        return {memory_.get(), memory_.owner().device.get()};
    }

    detail::StreamMemory memory_;
    std::size_t size_ = 0;
};

/// Options of a new memory pool.
struct MemoryPoolOptions {
    /// The most bytes that the pool reserves; 0 for no limit of its own. Needs CUDA 12.2.
    std::size_t max_bytes = 0;
    /// Bytes that the pool keeps when a stream or the device is synchronised. With 0 it returns all
    /// that is unused, and the next allocation is slow again.
    std::uint64_t release_threshold_bytes = 0;
    /// Whether other processes can import the pool, through a file descriptor.
    bool shareable = false;
};

/// The memory of a pool, in bytes.
struct MemoryPoolStatistics {
    std::uint64_t reserved = 0;       ///< Taken from the device.
    std::uint64_t reserved_high = 0;  ///< The most since the creation or reset_high_marks().
    std::uint64_t used = 0;           ///< In buffers.
    std::uint64_t used_high = 0;      ///< The most since the creation or reset_high_marks().
};

/// A pool of stream-ordered memory on one device. Move-only; keeps the device alive. Thread-safe.
/// Destroying a pool leaves its buffers valid; their memory returns to the device once they are
/// freed.
///
/// A default-constructed or moved-from pool is empty: every use fails with invalid_argument.
class MemoryPool {
public:
    /// An empty pool, to be assigned to.
    MemoryPool() noexcept = default;

    /// A new pool (cuMemPoolCreate).
    /// Errors: not_supported if the device has no pools, or the driver no limit for them.
    [[nodiscard]] static Result<MemoryPool> create(const Device& device,
                                                   const MemoryPoolOptions& options = {});
    /// A pool that another process exported, on the same GPU (Driver API, cuMemPoolImport…). It
    /// serves only import_buffer(): nothing can be allocated from it, and it can't be made current.
    /// The descriptor stays the caller's and may be closed afterwards. Errors: invalid_argument for
    /// a descriptor of anything else; not_supported if the device has no pools.
    [[nodiscard]] static Result<MemoryPool> import(const Device& device, int descriptor);
    /// The device's default pool, which destroying this object doesn't destroy.
    /// Errors: not_supported if the device has no pools.
    [[nodiscard]] static Result<MemoryPool> default_of(const Device& device);

    /// Whether there is a pool.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The driver's handle, still owned by this object; also a cudaMemPool_t.
    [[nodiscard]] NativeMemoryPool native() const noexcept { return handle_.get(); }

    /// Like AsyncBuffer::allocate(), from this pool (cuMemAllocFromPoolAsync).
    /// Errors: the same; invalid_argument for an empty pool.
    template <class T>
    [[nodiscard]] Result<AsyncBuffer<T>> allocate(StreamRef stream, std::size_t count) const {
        return allocate_bytes(stream, count, sizeof(T)).map([&](detail::StreamMemory memory) {
            return AsyncBuffer<T>(std::move(memory), count);
        });
    }

    /// A new descriptor of a pool that was created with MemoryPoolOptions::shareable, which the
    /// caller sends to other processes and closes; programs that this one starts don't inherit it
    /// unless the caller clears FD_CLOEXEC. Errors: invalid_argument for any other pool.
    [[nodiscard]] Result<int> export_descriptor() const;
    /// A handle of a buffer of this pool. Other processes may use the memory once the stream of
    /// its allocation has reached that point, and must destroy their buffers before this process
    /// frees its own. Errors: invalid_argument for an empty buffer and for one of a pool that can't
    /// be shared.
    template <class T>
    [[nodiscard]] Result<PoolMemoryHandle> export_buffer(const AsyncBuffer<T>& buffer) const {
        return export_bytes(buffer.memory_, buffer.size_bytes());
    }
    /// A buffer of the process from which this pool was imported. `stream` frees it, like a buffer
    /// of this process. Errors: invalid_argument for a handle of another pool, of a freed buffer or
    /// of bytes that aren't a whole number of T, for bytes that are no handle, and for a stream of
    /// another device.
    template <class T>
    [[nodiscard]] Result<AsyncBuffer<T>> import_buffer(StreamRef stream,
                                                       const PoolMemoryHandle& handle) const {
        return import_bytes(stream, handle, sizeof(T)).map([&](detail::StreamMemory memory) {
            return AsyncBuffer<T>(std::move(memory), handle.bytes / sizeof(T));
        });
    }

    /// Makes this the pool that AsyncBuffer::allocate() uses on its device, in the whole process.
    [[nodiscard]] Status make_current() const;
    /// Returns unused memory to the device until at most `keep_bytes` are reserved.
    [[nodiscard]] Status trim(std::size_t keep_bytes = 0) const;
    /// What the pool holds now and has held at most.
    [[nodiscard]] Result<MemoryPoolStatistics> statistics() const;
    /// Sets the high marks of the statistics to the current values.
    [[nodiscard]] Status reset_high_marks() const;
    /// See MemoryPoolOptions::release_threshold_bytes.
    [[nodiscard]] Result<std::uint64_t> release_threshold() const;
    /// The same.
    [[nodiscard]] Status set_release_threshold(std::uint64_t bytes) const;

    /// Whether the kernels of `peer` may access the pool's memory; the pool's own device always
    /// may.
    [[nodiscard]] Result<bool> is_accessible_from(const Device& peer) const;
    /// Lets the kernels of `peer` access all of the pool's memory, present and future, or forbids
    /// it. Errors: not_supported where the two devices can't access each other's memory.
    [[nodiscard]] Status set_access(const Device& peer, bool accessible) const;

private:
    explicit MemoryPool(UniqueHandle<detail::MemoryPoolTraits> handle) noexcept
        : handle_(std::move(handle)) {}
    [[nodiscard]] Result<detail::StreamMemory> allocate_bytes(StreamRef stream, std::size_t count,
                                                              std::size_t size) const;
    [[nodiscard]] Result<PoolMemoryHandle> export_bytes(const detail::StreamMemory& memory,
                                                        std::size_t bytes) const;
    [[nodiscard]] Result<detail::StreamMemory> import_bytes(StreamRef stream,
                                                            const PoolMemoryHandle& handle,
                                                            std::size_t size) const;

    UniqueHandle<detail::MemoryPoolTraits> handle_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
