// Gives up rights of this process, for good.
#pragma once

#include <lode/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace LODE_NAMESPACE::worker {

/// From here on this process and its later threads read only below these folders; they write, make
/// and remove no file, have no capabilities and no way to get any, and have at most `open_files`
/// files open. Call it while there is one thread, and restrict_calls() before anything untrusted.
/// Errors: not_supported, with what the system lacks.
[[nodiscard]] Status confine(std::span<const std::string> readable, std::uint32_t open_files);

}  // namespace LODE_NAMESPACE::worker
