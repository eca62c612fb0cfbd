// What a null stream means.
#pragma once

namespace lode::emulator::driver {

/// To an entry point: the legacy default stream, or the calling thread's own.
enum class DefaultStream : bool { legacy, per_thread };

}  // namespace lode::emulator::driver
