// Device memory and page-locked host memory.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lode {

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

// The untyped bodies; `stream` null means: on the legacy default stream's order, and blocking.
[[nodiscard]] Status copy_to_device(const DeviceMemory& memory, const void* from, std::size_t bytes,
                                    const StreamRef* stream);
[[nodiscard]] Status copy_to_host(const DeviceMemory& memory, void* to, std::size_t bytes,
                                  const StreamRef* stream);
[[nodiscard]] Status copy_on_device(const DeviceMemory& to, const DeviceMemory& from,
                                    std::size_t bytes, const StreamRef* stream);
/// Repeats a pattern of 1, 2 or 4 bytes `count` times.
[[nodiscard]] Status fill_device(const DeviceMemory& memory, const void* pattern,
                                 std::size_t pattern_bytes, std::size_t count,
                                 const StreamRef* stream);
[[nodiscard]] Status check_size(std::string_view what, std::size_t given, std::size_t room);
}  // namespace detail

/// Owns `size()` elements of T in a device's memory, made by Device::alloc. Aligned to at least
/// 256 bytes; the content starts undefined. Pass it to a kernel where the kernel takes a T*; to one
/// on another device that may reach it (peer access), pass data().
template <class T>
class DeviceBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The device address; never dereference it on the host. nullptr when empty.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.get()); }
    [[nodiscard]] NativeDevicePointer native() const noexcept { return memory_.get(); }

    /// Copies host → device and waits. `from` may be shorter than the buffer, not longer.
    [[nodiscard]] Status copy_from(std::span<const T> from) {
        return detail::check_size("a copy to the device", from.size(), size_).and_then([&] {
            return detail::copy_to_device(memory_, from.data(), from.size_bytes(), nullptr);
        });
    }
    /// Copies device → host and waits, filling `to`; `to` may be shorter than the buffer.
    [[nodiscard]] Status copy_to(std::span<T> to) const {
        return detail::check_size("a copy to the host", to.size(), size_).and_then([&] {
            return detail::copy_to_host(memory_, to.data(), to.size_bytes(), nullptr);
        });
    }
    /// The whole buffer as a host vector.
    [[nodiscard]] Result<std::vector<T>> to_vector() const {
        std::vector<T> values(size_);
        if (auto done = copy_to(values); !done) return tl::unexpected(std::move(done).error());
        return values;
    }

    // In a stream's order, without waiting. Both sides must stay alive until the stream gets there.
    // From pageable host memory the driver may stage or wait (Programming Guide 3.2.5.1); use a
    // PinnedBuffer to overlap.
    [[nodiscard]] Status copy_from_async(StreamRef stream, std::span<const T> from) {
        return detail::check_size("a copy to the device", from.size(), size_).and_then([&] {
            return detail::copy_to_device(memory_, from.data(), from.size_bytes(), &stream);
        });
    }
    [[nodiscard]] Status copy_to_async(StreamRef stream, std::span<T> to) const {
        return detail::check_size("a copy to the host", to.size(), size_).and_then([&] {
            return detail::copy_to_host(memory_, to.data(), to.size_bytes(), &stream);
        });
    }
    /// Device → device; `from` may be shorter, and may live on another device.
    [[nodiscard]] Status copy_from_async(StreamRef stream, const DeviceBuffer& from) {
        return detail::check_size("a copy on the device", from.size(), size_).and_then([&] {
            return detail::copy_on_device(memory_, from.memory_, from.size_bytes(), &stream);
        });
    }
    [[nodiscard]] Status copy_from(const DeviceBuffer& from) {
        return detail::check_size("a copy on the device", from.size(), size_).and_then([&] {
            return detail::copy_on_device(memory_, from.memory_, from.size_bytes(), nullptr);
        });
    }

    /// Sets every element; T of 1, 2 or 4 bytes.
    [[nodiscard]] Status fill(const T& value) requires(sizeof(T) == 1 || sizeof(T) == 2 ||
                                                       sizeof(T) == 4) {
        return detail::fill_device(memory_, &value, sizeof(T), size_, nullptr);
    }
    [[nodiscard]] Status fill_async(StreamRef stream, const T& value) requires(sizeof(T) == 1 ||
                                                                               sizeof(T) == 2 ||
                                                                               sizeof(T) == 4) {
        return detail::fill_device(memory_, &value, sizeof(T), size_, &stream);
    }
    /// Sets every byte to zero.
    [[nodiscard]] Status zero() {
        constexpr unsigned char nothing = 0;
        return detail::fill_device(memory_, &nothing, 1, size_bytes(), nullptr);
    }
    [[nodiscard]] Status zero_async(StreamRef stream) {
        constexpr unsigned char nothing = 0;
        return detail::fill_device(memory_, &nothing, 1, size_bytes(), &stream);
    }

    /// Gives the native allocation up to the caller, who frees it with cuMemFree.
    [[nodiscard]] NativeDevicePointer release() && noexcept {
        size_ = 0;
        return memory_.release();
    }

    /// For lode's own rooms: what the memory belongs to; null where there is none.
    [[nodiscard]] const detail::DeviceState* owner() const noexcept {
        return memory_.owner().get();
    }

private:
    friend class Device;
    DeviceBuffer(detail::DeviceMemory memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}

    detail::DeviceMemory memory_;
    std::size_t size_ = 0;
};

/// Owns `size()` elements of page-locked host memory, made by Device::alloc_pinned: the fast side
/// of a copy, and the one that overlaps with kernels (Best Practices Guide 9.1.1).
template <class T>
class PinnedBuffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "pinned memory holds bytes: T must be trivially copyable");

public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.get()); }
    [[nodiscard]] std::span<T> span() const noexcept { return {data(), size_}; }
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return data()[index]; }
    [[nodiscard]] T* begin() const noexcept { return data(); }
    [[nodiscard]] T* end() const noexcept { return data() + size_; }

private:
    friend class Device;
    PinnedBuffer(detail::PinnedMemory memory, std::size_t size) noexcept
        : memory_(std::move(memory)), size_(size) {}

    detail::PinnedMemory memory_;
    std::size_t size_ = 0;
};

}  // namespace lode
