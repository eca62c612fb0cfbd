// Matrix products: families and launches.
#pragma once

#include "gemm/product.hpp"
#include "lode_kernels/operation.hpp"

#include <lode/runtime/tensor_map.hpp>

namespace LODE_NAMESPACE::kernels::gemm {

KernelFamily family(const Product& product);

/// What a row needs; each launch leaves it ready for the next, of any problem.
std::uint64_t workspace_bytes(const LoadedVariant& variant, const Problem& problem);

struct Arguments {
    NativeDevicePointer a = 0;
    NativeDevicePointer b = 0;
    NativeDevicePointer c = 0;
    float scale = 1;
    const float* operand = nullptr;  ///< LODE_GEMM_EPILOGUE's.
    void* workspace = nullptr;
};

/// The tensor maps of A, B and C for one row and these addresses; empty for rows without.
struct Maps {
    TensorMap a{};
    TensorMap b{};
    TensorMap c{};
};
Result<Maps> encode_maps(const Device& device, const LoadedVariant& variant, const Problem& problem,
                         const Product& product, const Arguments& arguments);

Status launch(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
              const Maps& maps, const Arguments& arguments);

}  // namespace LODE_NAMESPACE::kernels::gemm
