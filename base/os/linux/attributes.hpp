// The attributes of a file in the system's form.
#pragma once

#include "base/os/file.hpp"

#include <sys/stat.h>

namespace LODE_NAMESPACE::os {

[[nodiscard]] FileAttributes attributes_of(const struct stat& status) noexcept;
/// Without what FileAttributes doesn't know.
[[nodiscard]] struct stat status_of(const FileAttributes& attributes) noexcept;

/// The flags of an open() that waits for nothing.
[[nodiscard]] int open_flags(Open flags) noexcept;

}  // namespace LODE_NAMESPACE::os
