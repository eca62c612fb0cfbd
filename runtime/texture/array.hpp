// What arrays, textures and surfaces share.
#pragma once

#include "runtime/state/device_checks.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/array.hpp>

#include <cuda.h>

namespace LODE_NAMESPACE::detail {

/// The driver's name of a format; invalid_argument if it has none.
[[nodiscard]] Result<CUarray_format> native_format(const ElementFormat& format);

}  // namespace LODE_NAMESPACE::detail
