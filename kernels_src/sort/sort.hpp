// Stable sorts of keys, with values or without: rows, workspace and launches.
#pragma once

#include "lode_kernels/operation.hpp"

namespace LODE_NAMESPACE::kernels::sort {

KernelFamily family(const detail::NumberType& key, bool has_values, bool descending);

/// Words of sort.cuh, which are zero before the first sort of a row; each sort leaves them ready
/// for the next.
std::size_t state_bytes(const LoadedVariant& variant, const Problem& problem,
                        const detail::NumberType& key, bool has_values);

/// The memory of one sort. The values are null if there are none.
struct Arguments {
    const void* from = nullptr;
    void* between = nullptr;  ///< As many keys as there are.
    void* to = nullptr;
    const void* from_values = nullptr;
    void* values_between = nullptr;
    void* to_values = nullptr;
    void* state = nullptr;
};

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const detail::NumberType& key, const Arguments& arguments);

}  // namespace LODE_NAMESPACE::kernels::sort
