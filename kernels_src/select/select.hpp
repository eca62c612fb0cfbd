// The elements for which a predicate holds: rows, workspace and launch.
#pragma once

#include "lode_kernels/operation.hpp"

namespace LODE_NAMESPACE::kernels::select {

/// The family for elements of a type; whether it writes the others too.
KernelFamily family(const detail::NumberType& type, bool partitions);

/// The words of select.cuh.
detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem& problem,
                           const detail::NumberType& type);

/// The workspace is zero before the first launch; each leaves it ready for the next.
Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, void* selected, void* workspace);

}  // namespace LODE_NAMESPACE::kernels::select
