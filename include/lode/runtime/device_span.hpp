/// \file
/// Views of device memory.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/native.hpp>
#include <lode/runtime/stream.hpp>

#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Device;

namespace detail {
/// Device memory without its type.
struct DeviceMemoryRef {
    NativeDevicePointer address = 0;
    DeviceState* device = nullptr;  ///< Null for memory of no particular device.
};

// The untyped implementations. If `stream` is null, the call waits for all work on the device, uses
// the legacy default stream and blocks until it is done.
[[nodiscard]] Status copy_to_device(DeviceMemoryRef to, const void* from, std::size_t bytes,
                                    const StreamRef* stream);
[[nodiscard]] Status copy_to_host(DeviceMemoryRef from, void* to, std::size_t bytes,
                                  const StreamRef* stream);
[[nodiscard]] Status copy_on_device(DeviceMemoryRef to, DeviceMemoryRef from, std::size_t bytes,
                                    const StreamRef* stream);
/// Repeats a pattern of 1, 2 or 4 bytes `count` times.
[[nodiscard]] Status fill_device(DeviceMemoryRef memory, const void* pattern,
                                 std::size_t pattern_bytes, std::size_t count,
                                 const StreamRef* stream);

/// Refuses a copy whose two sides have different numbers of elements.
[[nodiscard]] Status check_same_size(std::string_view what, std::size_t given, std::size_t size);
/// Refuses a part that ends after the last of `size` elements.
[[nodiscard]] Status check_part(std::size_t offset, std::size_t count, std::size_t size);
/// Refuses an address that isn't a multiple of `align`, a null address for any elements, and
/// elements beyond the end of the address space.
[[nodiscard]] Status check_native(NativeDevicePointer address, std::size_t count, std::size_t size,
                                  std::size_t align);
/// Refuses bytes that aren't a whole number of elements, and a misaligned address.
[[nodiscard]] Status check_reinterpret(NativeDevicePointer address, std::size_t bytes,
                                       std::size_t size, std::size_t align);
[[nodiscard]] DeviceState* state_of(const Device& device) noexcept;

/// The arguments of copies and uploads: contiguous elements in host memory, such as a span, an
/// array, a vector, a PinnedBuffer or a C array.
template <class Range>
concept HostRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;
template <class Range>
using HostElement = std::remove_cv_t<std::ranges::range_value_t<Range>>;

/// An argument whose elements are destroyed at the end of the statement: a temporary vector, but
/// not a temporary span, which doesn't own its elements.
template <class Argument>
concept TemporaryRange = HostRange<Argument> && !std::ranges::borrowed_range<Argument>;
/// Always false: for a static_assert that fails when its template is used.
template <class T>
inline constexpr bool never = false;

/// Whether cuMemset has a function for the size of T.
template <class T>
concept Fillable = !std::is_const_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4);
}  // namespace detail

/// A view of `size()` elements of T in device memory; T may be const. A `DeviceBuffer<T>` converts
/// to it.
///
/// Trivially copyable. Keeps neither the memory nor the device alive: both must outlive the view
/// and the work that uses it. Pass it where a kernel expects a `T*` or, unless T is const, a
/// `const T*`. Calls from several threads are safe, but the caller must order copies and kernels
/// that use the same elements.
///
/// A span belongs to the device of its memory, and launches, copies and fills check that. A span
/// that from_native() makes without a device is accepted by launches on every device, and by copies
/// and fills on a stream. Every use of a default-constructed span or of a view of an empty buffer
/// fails with invalid_argument.
///
/// Calls without a stream first wait for all work on the device and return when they are done; the
/// others enqueue their work and don't wait. Errors of every call: device_lost and the driver's
/// own.
template <class T>
class DeviceSpan {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// T without const.
    using Value = std::remove_cv_t<T>;

    /// A span without memory, to be assigned to.
    constexpr DeviceSpan() noexcept = default;
    /// A read-only view of the same elements.
    template <class U>
    requires std::is_same_v<T, const U>
    constexpr DeviceSpan(DeviceSpan<U> other) noexcept
        : memory_(other.memory()), size_(other.size()) {}

    /// A view of memory that the host allocated on `device` in another way, such as cudaMalloc. The
    /// address isn't looked up. Errors: invalid_argument for a null address with elements, one that
    /// isn't aligned for T, and elements beyond the end of the address space.
    [[nodiscard]] static Result<DeviceSpan> from_native(const Device& device,
                                                        NativeDevicePointer address,
                                                        std::size_t count) {
        return checked({address, detail::state_of(device)}, count);
    }
    /// The same for memory that every device can access, such as managed memory. Copies and fills
    /// of this span need a stream. Errors: the same.
    [[nodiscard]] static Result<DeviceSpan> from_native(NativeDevicePointer address,
                                                        std::size_t count) {
        return checked({address, nullptr}, count);
    }

    /// Elements.
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    /// Bytes.
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Whether it has no elements.
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    /// The device address. The host must not dereference it.
    [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(memory_.address); }
    /// The device address in the driver API's type.
    [[nodiscard]] constexpr NativeDevicePointer native() const noexcept { return memory_.address; }

    /// `count` elements from `offset` on; without a count, all of these.
    /// Errors: invalid_argument if the part ends after the span.
    [[nodiscard]] Result<DeviceSpan> subspan(std::size_t offset,
                                             std::size_t count = std::dynamic_extent) const {
        if (count == std::dynamic_extent && offset <= size_) count = size_ - offset;
        return detail::check_part(offset, count, size_).map([&] { return part(offset, count); });
    }
    /// The first `count` elements. Errors: those of subspan().
    [[nodiscard]] Result<DeviceSpan> first(std::size_t count) const {
        return detail::check_part(0, count, size_).map([&] { return part(0, count); });
    }
    /// The last `count` elements. Errors: those of subspan().
    [[nodiscard]] Result<DeviceSpan> last(std::size_t count) const {
        return detail::check_part(0, count, size_).map([&] { return part(size_ - count, count); });
    }
    /// The same bytes as elements of U, which must be const if T is. Errors: invalid_argument if
    /// the bytes aren't a whole number of elements or the address isn't aligned for U.
    template <class U>
    requires(!std::is_const_v<T> || std::is_const_v<U>)
        [[nodiscard]] Result<DeviceSpan<U>> reinterpret() const {
        return detail::check_reinterpret(native(), size_bytes(), sizeof(U), alignof(U)).map([&] {
            return DeviceSpan<U>(memory_, size_bytes() / sizeof(U));
        });
    }

    /// Copies from the host and waits. Errors: invalid_argument if the sizes differ.
    [[nodiscard]] Status copy_from(std::span<const T> from) const requires(!std::is_const_v<T>) {
        return detail::check_same_size("host memory", from.size(), size_).and_then([&] {
            return detail::copy_to_device(memory_, from.data(), from.size_bytes(), nullptr);
        });
    }
    /// Copies from device memory and waits. The other span may be on another device of the same
    /// driver; both devices are then waited for. Errors: invalid_argument if the sizes differ.
    [[nodiscard]] Status copy_from(DeviceSpan<const T> from) const requires(!std::is_const_v<T>) {
        return detail::check_same_size("the source", from.size(), size_).and_then([&] {
            return detail::copy_on_device(memory_, from.memory(), from.size_bytes(), nullptr);
        });
    }
    /// Copies to the host and waits. Errors: invalid_argument if the sizes differ.
    [[nodiscard]] Status copy_to(std::span<Value> to) const {
        return detail::check_same_size("host memory", to.size(), size_).and_then([&] {
            return detail::copy_to_host(memory_, to.data(), to.size_bytes(), nullptr);
        });
    }
    /// Copies all elements to a host vector and waits. For bool, every nonzero byte is true.
    [[nodiscard]] Result<std::vector<Value>> to_vector() const {
        if constexpr (std::is_same_v<Value, bool>) {  // std::vector<bool> packs bits.
            std::vector<unsigned char> bytes(size_);
            return detail::copy_to_host(memory_, bytes.data(), bytes.size(), nullptr).map([&] {
                std::vector<bool> values(size_);
                for (std::size_t i = 0; i < size_; ++i)
                    values[i] = bytes[i] != 0;
                return values;
            });
        } else {
            std::vector<Value> values(size_);
            return copy_to(values).map([&] { return std::move(values); });
        }
    }

    /// Enqueues a copy from the host on `stream`, which must belong to the span's device. Host
    /// memory must stay alive until the copy is done. From pageable host memory the driver may
    /// stage the copy or wait (Programming Guide 3.2.5.1); use a PinnedBuffer to overlap. Errors:
    /// invalid_argument if the sizes differ, and for a stream of another device.
    [[nodiscard]] Status copy_from_async(StreamRef stream, std::span<const T> from) const
        requires(!std::is_const_v<T>) {
        return detail::check_same_size("host memory", from.size(), size_).and_then([&] {
            return detail::copy_to_device(memory_, from.data(), from.size_bytes(), &stream);
        });
    }
    /// Enqueues a copy from device memory, which may be on another device of the same driver
    /// (cuMemcpyPeerAsync); `stream` may then belong to either device. Errors: the same.
    [[nodiscard]] Status copy_from_async(StreamRef stream, DeviceSpan<const T> from) const
        requires(!std::is_const_v<T>) {
        return detail::check_same_size("the source", from.size(), size_).and_then([&] {
            return detail::copy_on_device(memory_, from.memory(), from.size_bytes(), &stream);
        });
    }
    /// Enqueues a copy to the host under the rules of the copy from the host.
    [[nodiscard]] Status copy_to_async(StreamRef stream, std::span<Value> to) const {
        return detail::check_same_size("host memory", to.size(), size_).and_then([&] {
            return detail::copy_to_host(memory_, to.data(), to.size_bytes(), &stream);
        });
    }
    /// Temporaries don't compile: the copy would read them after their destruction. Name the
    /// object, and keep it until the copy is done.
    template <detail::TemporaryRange Range>
    [[nodiscard]] Status copy_from_async(StreamRef, Range&&) const {
        static_assert(detail::never<Range>,
                      "an asynchronous copy reads its range later: a temporary is gone by then");
        return {};
    }
    /// Temporaries don't compile.
    template <detail::TemporaryRange Range>
    [[nodiscard]] Status copy_to_async(StreamRef, Range&&) const {
        static_assert(detail::never<Range>,
                      "an asynchronous copy fills its range later: a temporary is gone by then");
        return {};
    }

    /// Sets every element and waits. Only for T of 1, 2 or 4 bytes (cuMemsetD8, D16, D32).
    [[nodiscard]] Status fill(const T& value) const requires detail::Fillable<T> {
        return detail::fill_device(memory_, &value, sizeof(T), size_, nullptr);
    }
    /// Enqueues the same on `stream`. Errors: invalid_argument for a stream of another device.
    [[nodiscard]] Status fill_async(StreamRef stream,
                                    const T& value) const requires detail::Fillable<T> {
        return detail::fill_device(memory_, &value, sizeof(T), size_, &stream);
    }
    /// Sets every byte to zero and waits.
    [[nodiscard]] Status zero() const requires(!std::is_const_v<T>) {
        constexpr unsigned char nothing = 0;
        return detail::fill_device(memory_, &nothing, 1, size_bytes(), nullptr);
    }
    /// Enqueues the same on `stream`. Errors: invalid_argument for a stream of another device.
    [[nodiscard]] Status zero_async(StreamRef stream) const requires(!std::is_const_v<T>) {
        constexpr unsigned char nothing = 0;
        return detail::fill_device(memory_, &nothing, 1, size_bytes(), &stream);
    }

    /// For lode's own components, not for hosts.
    constexpr explicit DeviceSpan(detail::DeviceMemoryRef memory, std::size_t size) noexcept
        : memory_(memory), size_(size) {}
    /// For lode's own components, not for hosts.
    [[nodiscard]] constexpr detail::DeviceMemoryRef memory() const noexcept { return memory_; }
    /// For lode's own components, not for hosts: the memory's device, or null.
    [[nodiscard]] constexpr const detail::DeviceState* owner() const noexcept {
        return memory_.device;
    }

private:
    [[nodiscard]] static Result<DeviceSpan> checked(detail::DeviceMemoryRef memory,
                                                    std::size_t count) {
        return detail::check_native(memory.address, count, sizeof(T), alignof(T)).map([&] {
            return DeviceSpan(memory, count);
        });
    }
    [[nodiscard]] DeviceSpan part(std::size_t offset, std::size_t count) const noexcept {
        return DeviceSpan({memory_.address + offset * sizeof(T), memory_.device}, count);
    }

    detail::DeviceMemoryRef memory_;
    std::size_t size_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
