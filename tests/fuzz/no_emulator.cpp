#include "tests/fuzz/target.hpp"

namespace lode::fuzz {

std::span<const Target> ptx_targets() noexcept {
    return {};
}
std::span<const Target> driver_targets() noexcept {
    return {};
}

}  // namespace lode::fuzz
