// Shared by the operations on matrices of floats: rows that follow each other without gaps.
#pragma once

#include "lode_kernels/operation.hpp"

#include <string_view>

namespace LODE_NAMESPACE::kernels::detail {

/// None.
inline WorkspaceNeed no_workspace(const LoadedVariant&, const Problem&, const NumberType&) {
    return {};
}

/// Launches a kernel that makes a matrix of another: x rows and y columns of floats.
inline Status launch_on_matrix(const LoadedVariant& variant, StreamRef stream,
                               const Problem& problem, const void* from, void* to) {
    return launch_with(variant, stream, problem, from, to, static_cast<unsigned>(problem.x),
                       static_cast<unsigned>(problem.y));
}

/// invalid_argument unless `from` and `to` are two matrices of this size, and start where kernels
/// can read 16 bytes; `what` is an operation, with its article.
[[nodiscard]] Status check_matrices(std::string_view what, const Elements& from, const Elements& to,
                                    std::size_t rows, std::size_t columns);

}  // namespace LODE_NAMESPACE::kernels::detail
