// How many programs the tests with random ones make.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace lode::emulator::exec::testing {

/// LODE_TEST_RANDOM_KERNELS makes the number of programs as many times as large.
inline unsigned as_many(unsigned programs) {
    const char* const more = std::getenv("LODE_TEST_RANDOM_KERNELS");
    return more == nullptr ? programs
                           : programs * static_cast<unsigned>(std::max(1, std::atoi(more)));
}

}  // namespace lode::emulator::exec::testing
