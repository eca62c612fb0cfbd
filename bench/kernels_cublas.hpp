// cuBLAS, opened at run time: the peer of the matrix products.
#pragma once

#include "kernels_peers.hpp"

#include <string_view>

namespace lode::bench {

/// The matrix products of gemm and gemm_bf16. Errors: not_found if no library can be opened, with
/// the loader's message.
[[nodiscard]] Result<std::unique_ptr<Peer>> open_cublas(const Device& device,
                                                        std::string_view family);

}  // namespace lode::bench
