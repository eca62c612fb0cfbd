// Loads and stores with generic addresses: each lane's address selects the window.
#pragma once

#include "emulator/exec/handlers.hpp"

#include <string>

namespace lode::emulator::exec {

/// The handlers of a generic access for each Window.
struct Windows {
    explicit Windows(const MemoryAccess& generic);

    MemoryAccess access;
    Handler handlers[4];
};

/// Runs the op once for each window among the lanes' addresses.
const Op* run_by_window(WarpContext& c, const Op* op, const Windows& windows);

/// The report for an address that is in no window.
std::string describe_bad_window(u64 address);

}  // namespace lode::emulator::exec
