// Findings as SARIF 2.1.0, the format that code reviews and editors read.
#pragma once

#include "tools/lode/emulation_report.hpp"
#include "tools/lode/report.hpp"

#include <filesystem>
#include <string_view>

namespace lode::tool {

/// One run of the tool, with a rule for each kind of finding that occurs. Findings and failed
/// kernels are errors, benign races are notes. Files below `root` are named relative to it.
[[nodiscard]] Json sarif_of(const EmulationReport& report, std::string_view version,
                            const std::filesystem::path& root);

}  // namespace lode::tool
