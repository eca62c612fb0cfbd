// The CUDA version that the emulated driver says it has.
#pragma once

namespace lode::emulator::driver {

/// 1000·major + 10·minor.
int reported_version() noexcept;

/// The newest PTX ISA that a driver of that version reads, 100·major + minor.
int newest_ptx() noexcept;

/// For the test instrument; 0 takes it back.
void override_version(int version) noexcept;

}  // namespace lode::emulator::driver
