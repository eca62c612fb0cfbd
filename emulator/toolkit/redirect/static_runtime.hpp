// NVIDIA's runtime library that is linked statically: lode's own takes the place of its functions.
#pragma once

#include <link.h>

namespace lode::emulator::redirect {

/// Called for each object that the loader has mapped, before its code runs. If it contains
/// libcudart_static, its public functions become jumps to the stand-in in `folder`. An object in
/// which they can't be found with certainty stays as it is.
void watch_object(const link_map& object, bool is_in_base_space, const char* folder) noexcept;

}  // namespace lode::emulator::redirect
