// Softmax over the rows of a matrix of floats: rows.
#pragma once

#include <lode/runtime/variants.hpp>

namespace LODE_NAMESPACE::kernels::softmax {

KernelFamily family();

}  // namespace LODE_NAMESPACE::kernels::softmax
