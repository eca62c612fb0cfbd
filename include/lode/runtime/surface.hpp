/// \file
/// Surfaces: how kernels read and write arrays by element (Programming Guide 3.2.11.2).
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/array.hpp>
#include <lode/runtime/kernel.hpp>
#include <lode/runtime/native.hpp>

#include <memory>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
struct SurfaceTraits {
    using Handle = NativeSurface;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
using SurfaceHandle = UniqueHandle<SurfaceTraits>;

[[nodiscard]] Result<SurfaceHandle> create_surface(const ArrayPlace& array,
                                                   std::shared_ptr<DeviceState> owner,
                                                   bool may_write);
}  // namespace detail

/// Owns a surface object. Pass it to launch() where the kernel expects a cudaSurfaceObject_t
/// (unsigned long long). Surface functions count x in bytes, y in rows. Move-only; keeps the device
/// alive, but not the array, which must outlive it. It must outlive the kernels that use it. A
/// default-constructed or moved-from surface is empty, and a launch with it fails with
/// invalid_argument.
class Surface {
public:
    /// An empty surface, to be assigned to.
    Surface() noexcept = default;

    /// Reads and writes an array. Errors: invalid_argument for an empty array, and for one without
    /// ArrayOptions::surface; device_lost; the driver's own.
    template <class T>
    [[nodiscard]] static Result<Surface> create(const Array<T>& array) {
        return detail::create_surface({array.native(), array.handle().owner().get(), {}, sizeof(T)},
                                      array.handle().owner(), array.options().surface)
            .map([](detail::SurfaceHandle owned) { return Surface(std::move(owned)); });
    }

    /// Whether there is a surface.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The handle for kernels, still owned by this object; also a cudaSurfaceObject_t.
    [[nodiscard]] NativeSurface native() const noexcept { return handle_.get(); }

    /// For launches: the value of the parameter.
    [[nodiscard]] NativeSurface data() const noexcept { return handle_.get(); }
    /// For lode's own components, not for hosts.
    [[nodiscard]] const detail::DeviceState* owner() const noexcept {
        return handle_.owner().get();
    }

private:
    explicit Surface(detail::SurfaceHandle handle) noexcept : handle_(std::move(handle)) {}

    detail::SurfaceHandle handle_;
};

template <>
inline constexpr bool detail::is_device_memory<Surface> = true;
template <>
inline constexpr detail::ArgumentKind detail::argument_kind<Surface> =
    detail::ArgumentKind::surface;

}  // namespace LODE_NAMESPACE

LODE_API_END
