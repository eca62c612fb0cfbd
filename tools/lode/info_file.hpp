// `lode info FILE`: what a file with device code holds.
#pragma once

#include "tools/lode/report.hpp"

#include <string>

namespace lode::tool {

/// Lists the parts of a fat binary, or the one part of PTX, machine code or LTO-IR, with the
/// kernels of each. Errors: not_found; file_failed; invalid_image for any other file.
[[nodiscard]] Result<Answer> info_files(const std::vector<std::string>& files);

}  // namespace lode::tool
