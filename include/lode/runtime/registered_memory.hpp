/// \file
/// Page-locking host memory that the program allocated itself.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/memory.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// How host memory is registered.
struct RegisterOptions {
    bool portable = true;    ///< Page-locked for every context, not only for the device's.
    bool read_only = false;  ///< Devices only read it; allows read-only pages.
    bool io_memory = false;  ///< It is memory of an I/O device, mapped into the process.
};

namespace detail {
struct RegisteredMemoryTraits {
    using Handle = void*;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using RegisteredHandle = UniqueHandle<RegisteredMemoryTraits>;

[[nodiscard]] Result<RegisteredHandle> register_host(const Device& device, const void* address,
                                                     std::size_t bytes,
                                                     const RegisterOptions& options);
[[nodiscard]] Status unregister_host(RegisteredHandle handle);
}  // namespace detail

/// Keeps host memory of the caller page-locked and mapped (cuMemHostRegister): copies from and to
/// it are fast and overlap with kernels (Best Practices Guide 9.1.1), and kernels can access it
/// through device_span(). T may be const.
///
/// Registering is slow; do it once for memory that is used often. Move-only; keeps the device
/// alive. The memory must stay allocated as long as this object, and this object must outlive the
/// work that uses it. A default-constructed or moved-from object registers nothing, and
/// device_span() and unregister() fail with invalid_argument. Not thread-safe.
template <class T>
class RegisteredMemory {
    static_assert(std::is_trivially_copyable_v<T>,
                  "device memory holds bytes: T must be trivially copyable");

public:
    /// Registers `memory`. No elements are allowed and register nothing. Errors: invalid_argument
    /// if it is already registered, even in part, or isn't memory of this process that the device
    /// may write; not_supported for options that the device or the system lacks; out_of_memory if
    /// the system allows no more locked pages.
    [[nodiscard]] static Result<RegisteredMemory> create(const Device& device, std::span<T> memory,
                                                         const RegisterOptions& options = {}) {
        return detail::register_host(device, memory.data(), memory.size_bytes(), options)
            .map([&](detail::RegisteredHandle handle) {
                return RegisteredMemory(std::move(handle), memory);
            });
    }

    /// An object that registers nothing, to be assigned to.
    RegisteredMemory() noexcept = default;
    /// Leaves `other` empty.
    RegisteredMemory(RegisteredMemory&& other) noexcept
        : handle_(std::move(other.handle_)), memory_(std::exchange(other.memory_, {})) {}
    /// Unregisters the current memory and takes over the other's.
    RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
        if (this != &other) {
            handle_ = std::move(other.handle_);
            memory_ = std::exchange(other.memory_, {});
        }
        return *this;
    }

    /// Whether it belongs to a device.
    explicit operator bool() const noexcept { return handle_.owner() != nullptr; }
    /// The caller's memory.
    [[nodiscard]] std::span<T> span() const noexcept { return memory_; }
    /// The same memory as the device sees it; the address may differ from the host's.
    /// Errors: invalid_argument for an empty object.
    [[nodiscard]] Result<DeviceSpan<T>> device_span() const {
        return detail::map_host(handle_.owner().get(), handle_.get())
            .map([&](detail::DeviceMemoryRef mapped) {
                return DeviceSpan<T>(mapped, memory_.size());
            });
    }
    /// Unregisters the memory now and leaves this object empty. The destructor does the same and
    /// reports errors to the log. Errors: invalid_argument for an empty object and if something
    /// else has unregistered the memory.
    [[nodiscard]] Status unregister() {
        memory_ = {};
        return detail::unregister_host(std::move(handle_));
    }

private:
    RegisteredMemory(detail::RegisteredHandle handle, std::span<T> memory) noexcept
        : handle_(std::move(handle)), memory_(memory) {}

    detail::RegisteredHandle handle_;
    std::span<T> memory_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
