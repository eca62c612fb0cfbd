// An open file descriptor.
#pragma once

#include <lode/base/api.hpp>

#include <utility>

#include <unistd.h>

namespace LODE_NAMESPACE {

/// A file descriptor, closed with the object. Move-only.
class Descriptor {
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
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
    bool close() noexcept { return ::close(release()) == 0; }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

}  // namespace LODE_NAMESPACE
