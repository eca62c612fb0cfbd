#include "emulator/memory/images.hpp"

#include <mutex>
#include <utility>

namespace lode::emulator {

std::uint32_t bytes_of(Component component) noexcept {
    switch (component) {
        case Component::uint8:
        case Component::int8:
            return 1;
        case Component::uint16:
        case Component::int16:
        case Component::half:
            return 2;
        default:
            return 4;
    }
}

Images& Images::all() {
    // Never destroyed: kernels may still run while the process exits.
    static auto* const one = new Images;
    return *one;
}

void Images::add(std::uint64_t handle, std::shared_ptr<const Image> image) {
    const std::unique_lock lock(mutex_);
    images_.insert_or_assign(handle, std::move(image));
}

void Images::remove(std::uint64_t handle) noexcept {
    const std::unique_lock lock(mutex_);
    images_.erase(handle);
}

std::shared_ptr<const Image> Images::find(std::uint64_t handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = images_.find(handle);
    return found == images_.end() ? nullptr : found->second;
}

}  // namespace lode::emulator
