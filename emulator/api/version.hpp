// The CUDA version that the emulated driver says it has.
#pragma once

namespace lode::emulator {

/// 1000·major + 10·minor.
int reported_version() noexcept;

/// For the test instrument; 0 takes it back.
void override_version(int version) noexcept;

}  // namespace lode::emulator
