// Loads and stores through generic addresses, and the windows that these lie in.
#pragma once

#include "emulator/decode/op.hpp"

#include <string>

namespace lode::emulator::exec {

/// memory_handler's part for generic addresses.
Handler generic_handler(bool store, u32 bytes, u32 parts);

/// The sentence for an address in no window.
std::string describe_bad_window(u64 address);

}  // namespace lode::emulator::exec
