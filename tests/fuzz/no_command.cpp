#include "tests/fuzz/target.hpp"

namespace lode::fuzz {

std::span<const Target> command_targets() noexcept {
    return {};
}

}  // namespace lode::fuzz
