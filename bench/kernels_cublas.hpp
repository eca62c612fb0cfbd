// cuBLAS, opened at run time: the peer of the matrix products.
#pragma once

#include "kernels_peers.hpp"

#include <string_view>
#include <vector>

namespace lode::bench {

/// The peers of a family of matrix products, by cublasLtMatmul with the fastest of the algorithms
/// that its heuristics propose (at most 8, each measured, with 64 MiB of workspace):
///
/// - cuBLAS: the whole product, if the library has its epilogue. Products of e4m3 use fast
///   accumulation, as wgmma does.
/// - cuBLAS+kernel: for a product with an epilogue, the plain product and then a kernel that reads
///   C, applies the epilogue and writes it.
///
/// A peer holds not_found if no library can be opened, with the loader's message.
[[nodiscard]] std::vector<PeerOffer> cublas_peers(const Device& device, std::string_view family);

}  // namespace lode::bench
