// Shared by the families that combine elements: reduce and scan.
#pragma once

#include "lode_kernels/operation.hpp"

#include <lode/kernels/reduce.hpp>

namespace LODE_NAMESPACE::kernels {

/// Completes a family's name by its type, and gives its rows the definition of the type, which sums
/// of 32-bit integers don't need. Sums of integers are the same with a sign and without.
void set_element(KernelFamily& family, const detail::NumberType& type, bool adds);

/// Loads the family that `make` makes of the type, with the operator of the options.
Result<detail::OperationPointer> load_combining(
    const VariantLoader& loader, KernelFamily (*make)(const detail::NumberType&, bool adds),
    detail::Operation::NeedOf need, const detail::NumberType& type, const CombineOptions& options);

}  // namespace LODE_NAMESPACE::kernels
