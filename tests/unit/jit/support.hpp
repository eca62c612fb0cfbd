// Helpers shared by the tests of the jit component.
#pragma once

#include "tests/support/text.hpp"

#include <lode/base/arch.hpp>

namespace lode::test {

/// sm_<number>
inline Arch sm(int number) {
    return Arch(ComputeCapability::from_number(number));
}

}  // namespace lode::test
