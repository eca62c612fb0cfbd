// The layer normalization of the rows of a matrix of floats: rows and launch.
#pragma once

#include "lode_kernels/operation.hpp"

namespace LODE_NAMESPACE::kernels::layer_norm {

KernelFamily family();

/// `scales` and `shifts` have an element for each column.
Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, const void* scales, const void* shifts, float epsilon);

}  // namespace LODE_NAMESPACE::kernels::layer_norm
