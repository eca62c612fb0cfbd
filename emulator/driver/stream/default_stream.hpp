// The meaning of a null stream.
#pragma once

namespace lode::emulator::driver {

/// For an entry point: the legacy default stream, or the calling thread's own.
enum class DefaultStream : bool { legacy, per_thread };

}  // namespace lode::emulator::driver
