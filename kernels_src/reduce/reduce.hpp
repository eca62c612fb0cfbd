// The sum of elements: rows, workspace and launch.
#pragma once

#include "lode_kernels/operation.hpp"

namespace LODE_NAMESPACE::kernels::reduce {

/// The family for elements of a type; `adds` unless the host has an operator of its own.
KernelFamily family(const detail::NumberType& type, bool adds);

/// A ticket, then partial sums.
detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem& problem,
                           const detail::NumberType& type);

/// The workspace's ticket is zero before the first launch, and after each.
Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, void* workspace);

}  // namespace LODE_NAMESPACE::kernels::reduce
