// What arrays, textures and surfaces share.
#pragma once

#include "runtime/device_state.hpp"
#include "runtime/empty.hpp"

#include <lode/runtime/array.hpp>

#include <cstddef>

#include <cuda.h>

namespace lode::detail {

/// A device attribute that is a limit.
[[nodiscard]] Result<std::size_t> device_limit(DeviceState& state, CUdevice_attribute attribute);

/// The driver's name of a format; invalid_argument if it has none.
[[nodiscard]] Result<CUarray_format> native_format(const ElementFormat& format);

}  // namespace lode::detail
