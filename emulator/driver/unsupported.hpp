// The result of unsupported entry points. Doesn't include cuda.h, whose declarations conflict with
// the definitions in unsupported.cpp.
#pragma once

namespace lode::emulator::driver {

/// CUDA_ERROR_NOT_SUPPORTED, or a failure that the test interface has requested; logs the name
/// once.
int answer_unsupported(const char* symbol) noexcept;

}  // namespace lode::emulator::driver
