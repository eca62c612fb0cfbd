// The file of findings for other programs: one JSON object a line.
#pragma once

#include "emulator/exec/machine.hpp"

#include <string>

namespace lode::emulator::driver {

/// Appends a finding to the file with one write, so that several processes can share it. Does
/// nothing if the name is empty; a failure is logged once.
void write_report(const std::string& file, const exec::FindingReport& report);

}  // namespace lode::emulator::driver
