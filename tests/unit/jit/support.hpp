// Helpers shared by the tests of the jit component.
#pragma once

#include <lode/base/arch.hpp>

#include <string_view>

namespace lode::test {

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// sm_<number>
inline Arch sm(int number) {
    return Arch(ComputeCapability::from_number(number));
}

}  // namespace lode::test
