// Running sums: rows, workspace and launch.
#pragma once

#include "lode_kernels/operation.hpp"

namespace LODE_NAMESPACE::kernels::scan {

/// The family for elements of a type; `adds` unless the host has an operator of its own.
KernelFamily family(const detail::NumberType& type, bool adds);

/// The words of scan.cuh.
detail::WorkspaceNeed need(const LoadedVariant& variant, const Problem& problem,
                           const detail::NumberType& type);

/// The workspace is zero before the first launch; each leaves it ready for the next.
Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const void* from, void* to, void* workspace);

}  // namespace LODE_NAMESPACE::kernels::scan
