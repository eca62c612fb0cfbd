// UniqueHandle: move, release and destroy for every native handle, written once.
#pragma once

#include <utility>

namespace lode {

/// Owns one native handle.
///
/// Traits gives `using Handle` (a pointer-like type whose value-initialised state means "none"),
/// `using Owner` (what destruction needs: a shared_ptr to the driver state, or an empty struct),
/// and `static void destroy(Handle, const Owner&) noexcept`, which reports a failed destroy to a
/// hook, never by throwing.
template <class Traits>
class UniqueHandle {
public:
    using Handle = typename Traits::Handle;
    using Owner = typename Traits::Owner;

    UniqueHandle() noexcept = default;
    UniqueHandle(Handle handle, Owner owner) noexcept : handle_(handle), owner_(std::move(owner)) {}
    ~UniqueHandle() { reset(); }

    UniqueHandle(UniqueHandle&& other) noexcept
        : handle_(std::exchange(other.handle_, Handle{})), owner_(std::move(other.owner_)) {}
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

    [[nodiscard]] Handle get() const noexcept { return handle_; }
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
    explicit operator bool() const noexcept { return handle_ != Handle{}; }

    /// Gives the handle up without destroying it.
    [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Handle{}); }

    /// Destroys the handle now.
    void reset() noexcept {
        if (handle_ != Handle{}) Traits::destroy(std::exchange(handle_, Handle{}), owner_);
    }

private:
    Handle handle_{};
    Owner owner_{};
};

}  // namespace lode
