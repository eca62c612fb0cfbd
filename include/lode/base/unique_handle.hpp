/// \file
/// UniqueHandle: ownership of a native handle.
#pragma once

#include <lode/base/api.hpp>

#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Owns one native handle; move-only. Not thread-safe.
///
/// Traits defines `using Handle` (a pointer-like type whose value-initialised state means "none"),
/// `using Owner` (what destruction needs: a shared_ptr to the driver state, or an empty struct),
/// and `static void destroy(Handle, const Owner&) noexcept`, which reports failures to a hook
/// instead of throwing.
template <class Traits>
class UniqueHandle {
public:
    /// The native handle's type; `Handle{}` means none.
    using Handle = typename Traits::Handle;
    /// What destroying the handle needs; kept alive with it.
    using Owner = typename Traits::Owner;

    UniqueHandle() noexcept = default;
    /// Takes ownership of `handle`.
    UniqueHandle(Handle handle, Owner owner) noexcept : handle_(handle), owner_(std::move(owner)) {}
    ~UniqueHandle() { reset(); }

    /// Leaves `other` without a handle.
    UniqueHandle(UniqueHandle&& other) noexcept
        : handle_(std::exchange(other.handle_, Handle{})), owner_(std::move(other.owner_)) {}
    /// Destroys the current handle and takes over the other's.
    UniqueHandle& operator=(UniqueHandle&& other) noexcept {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, Handle{});
            owner_ = std::move(other.owner_);
        }
        return *this;
    }
    UniqueHandle(const UniqueHandle&) = delete;
    UniqueHandle& operator=(const UniqueHandle&) = delete;

    /// The handle, still owned; `Handle{}` when there is none.
    [[nodiscard]] Handle get() const noexcept { return handle_; }
    /// The owner passed at construction.
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
    /// Whether there is a handle.
    explicit operator bool() const noexcept { return handle_ != Handle{}; }

    /// Transfers the handle to the caller, who must destroy it.
    [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Handle{}); }

    /// Destroys the handle now, if there is one.
    void reset() noexcept {
        if (handle_ != Handle{}) Traits::destroy(std::exchange(handle_, Handle{}), owner_);
    }

private:
    Handle handle_{};
    Owner owner_{};
};

}  // namespace LODE_NAMESPACE

LODE_API_END
