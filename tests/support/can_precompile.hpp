// Whether precompiled headers work here.
#pragma once

#include "jit/nvrtc/library.hpp"

#include <sys/personality.h>

namespace lode::test {

/// Whether NVRTC and the system have what precompiled headers need.
inline bool can_precompile() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;  // The sanitizer's own memory is where NVRTC's must lie.
#endif
    const auto nvrtc = NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({}));
    const int current = ::personality(0xffffffff);
    if (!nvrtc || !(*nvrtc)->at_least(12, 8) || current < 0) return false;
    const auto fixed = static_cast<unsigned long>(current) | ADDR_NO_RANDOMIZE;
    const bool can_fix = ::personality(fixed) >= 0;
    ::personality(static_cast<unsigned long>(current));
    return can_fix;
}

}  // namespace lode::test
