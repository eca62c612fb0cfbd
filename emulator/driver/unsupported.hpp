// What unsupported entry points return; free of cuda.h, whose declarations the
// generated definitions in unsupported.cpp would contradict.
#pragma once

namespace lode::emulator::driver {

/// CUDA_ERROR_NOT_SUPPORTED, or what the test instrument has ordered; logs the name once.
int answer_unsupported(const char* symbol) noexcept;

}  // namespace lode::emulator::driver
