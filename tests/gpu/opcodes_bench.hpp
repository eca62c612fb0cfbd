// A bench on a lode device.
#pragma once

#include "tests/unit/emulator/exec/opcode_bench.hpp"

#include <lode/lode.hpp>

#include <memory>
#include <string>

namespace lode::emulator::exec::testing {

/// A bench on the runtime's first device. If there is none, returns null and sets `why`.
std::unique_ptr<Bench> make_device_bench(Runtime runtime, std::string& why);

}  // namespace lode::emulator::exec::testing
