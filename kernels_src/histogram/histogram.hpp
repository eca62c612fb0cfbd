// The number of times that each value occurs: rows, workspace and launch.
#pragma once

#include "lode_kernels/operation.hpp"

namespace LODE_NAMESPACE::kernels::histogram {

KernelFamily family();

/// See histogram_packed.cu; the other rows need none.
detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem& problem,
                           const detail::NumberType& type);

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* values, DeviceSpan<std::uint32_t> counts, void* workspace);

}  // namespace LODE_NAMESPACE::kernels::histogram
