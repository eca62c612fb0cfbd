// The compiled tier: finds the places in a function where compiled code may begin.
#pragma once

#include <memory>

namespace lode::emulator {
struct Code;
}

namespace lode::emulator::exec {

struct Regions;

/// Finds the regions of a decoded function and makes their first ops enter them. Null if there are
/// none, or if lode was built without the tier.
std::shared_ptr<Regions> find_regions(Code& code);

}  // namespace lode::emulator::exec
