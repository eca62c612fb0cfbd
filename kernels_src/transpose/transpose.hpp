// The transpose of a matrix of floats: rows.
#pragma once

#include <lode/runtime/variants.hpp>

namespace LODE_NAMESPACE::kernels::transpose {

KernelFamily family();

}  // namespace LODE_NAMESPACE::kernels::transpose
