// The CUDA version that the emulated driver reports.
#pragma once

namespace lode::emulator::driver {

/// 1000 * major + 10 * minor.
int reported_version() noexcept;

/// The newest PTX ISA version that a driver of that version and the emulator support in full, 100 *
/// major + minor.
int newest_ptx() noexcept;

/// For the test interface; 0 restores the default.
void override_version(int version) noexcept;

}  // namespace lode::emulator::driver
