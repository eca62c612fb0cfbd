// The handlers of operations.
#pragma once

#include "emulator/isa/atomic.hpp"
#include "emulator/isa/load_store.hpp"

namespace lode::emulator::exec {

#define LODE_OPERATION(name, action) const Op* name(WarpContext& c, const Op* op);
#include "emulator/isa/operations.def"
#undef LODE_OPERATION

/// Null for a load or store that doesn't exist.
Handler access_handler(const MemoryAccess& access);
Handler atomic_handler(AtomicType type) noexcept;

Handler handler_of(Operation operation);

}  // namespace lode::emulator::exec
