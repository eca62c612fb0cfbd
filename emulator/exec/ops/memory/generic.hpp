// Loads and stores with generic addresses.
#pragma once

#include "emulator/isa/op.hpp"

#include <string>

namespace lode::emulator::exec {

/// The part of memory_handler() for generic addresses.
Handler generic_handler(bool store, u32 bytes, u32 parts);

/// The report for an address that is in no window.
std::string describe_bad_window(u64 address);

}  // namespace lode::emulator::exec
