// An open file descriptor.
#pragma once

#include <lode/base/api.hpp>

#include <utility>

namespace LODE_NAMESPACE {

namespace os {
/// On failure returns false and sets errno.
bool close_file(int file) noexcept;
}  // namespace os

/// A file descriptor, closed with the object. Move-only.
class Descriptor {
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) os::close_file(number_);
    }
    Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int get() const noexcept { return number_; }
    /// Gives the descriptor to the caller.
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }
    /// Closes now; on failure returns false and sets errno.
    bool close() noexcept { return os::close_file(release()); }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

}  // namespace LODE_NAMESPACE
