/// \file
/// Gemm: products of matrices on tensor cores, with an epilogue of the application's.
#pragma once

#include <lode/kernels/operation.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace LODE_NAMESPACE::kernels {

namespace gemm {
struct Product;
}

/// The elements of a product's matrices.
enum class GemmType : std::uint8_t {
    f16,   ///< A, B and C in IEEE half precision.
    bf16,  ///< A, B and C in bfloat16.
    e4m3   ///< A and B in e4m3, C in bfloat16.
};

/// What a product computes and how its matrices are stored.
struct GemmOptions {
    bool a_m_major = false;  ///< A is stored as k rows of m, instead of m rows of k.
    bool b_n_major = false;  ///< B is stored as k rows of n, instead of n rows of k.
    /// An expression in CUDA C++ of `x`, the scaled sum, its `row` and `column`, and `operand`, the
    /// floats that a run is given: "fmaxf(x + operand[column], 0)". Empty for x.
    std::string epilogue = {};
    /// For the compiler: headers and definitions that the epilogue needs, and its options.
    CompileOptions compile = {};
};

/// The extents of a product: C is m x n, and has sums of k products.
struct GemmSize {
    std::size_t m = 0;  ///< Rows of A and C.
    std::size_t n = 0;  ///< Columns of B and C.
    std::size_t k = 0;  ///< Columns of A and rows of B.
};

/// What a run is given besides matrices.
struct GemmScaling {
    float scale = 1;                       ///< By which the sums are multiplied.
    DeviceSpan<const float> operand = {};  ///< The epilogue's; as large as that reads.
};

namespace detail {
/// What an operation and its runs need.
struct LoadedGemm {
    OperationPointer operation;
    const gemm::Product* product = nullptr;
};
[[nodiscard]] Result<LoadedGemm> load_gemm(const VariantLoader& loader, GemmType type,
                                           const GemmOptions& options);
[[nodiscard]] Status run_gemm(const LoadedGemm& loaded, StreamRef stream, Elements a, Elements b,
                              Elements c, const GemmSize& size, const GemmScaling& scaling,
                              Workspace* workspace);
}  // namespace detail

/// Multiplies matrices: C = epilogue(scale * A * B), with sums in single precision. Spans hold the
/// bits of the elements. A value that shares its kernels with its copies. Thread-safe.
template <GemmType type>
class Gemm {
public:
    /// An element of A or B.
    using Input = std::conditional_t<type == GemmType::e4m3, std::uint8_t, std::uint16_t>;

    /// Compiles and loads the kernel for 1,024 x 1,024 x 1,024. Errors: those of
    /// VariantLoader::load(); not_supported for e4m3 with other layouts than the default.
    [[nodiscard]] static Result<Gemm> load(const VariantLoader& loader,
                                           const GemmOptions& options = {}) {
        return detail::load_gemm(loader, type, options).map([](detail::LoadedGemm loaded) {
            return Gemm(std::move(loaded));
        });
    }

    /// The bytes of workspace for a product; 0 for most. Loads the kernel for that size, if it
    /// isn't loaded. Errors: those of load().
    [[nodiscard]] Result<std::size_t> workspace_bytes(const GemmSize& size) const {
        return detail::workspace_bytes(*loaded_.operation, {size.m, size.n, size.k});
    }

    /// Enqueues the product and doesn't wait. Rows follow each other without gaps; all matrices
    /// start at a multiple of 16 bytes. Tensor cores of 9.0 need rows of a multiple of 16 bytes;
    /// other sizes are slow. May be captured, after workspace_bytes() for that size. Errors:
    /// invalid_argument for other numbers of elements, k = 0, a workspace that is too small, and
    /// memory or a stream of another device; those of load() and of a launch.
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const Input> a, DeviceSpan<const Input> b,
                             DeviceSpan<std::uint16_t> c, const GemmSize& size,
                             const GemmScaling& scaling, Workspace& workspace) const {
        return detail::run_gemm(loaded_, stream, a, b, c, size, scaling, &workspace);
    }
    /// The same with a workspace from the device's pool, if it needs one. Errors: also those of
    /// AsyncBuffer::allocate().
    [[nodiscard]] Status run(StreamRef stream, DeviceSpan<const Input> a, DeviceSpan<const Input> b,
                             DeviceSpan<std::uint16_t> c, const GemmSize& size,
                             const GemmScaling& scaling = {}) const {
        return detail::run_gemm(loaded_, stream, a, b, c, size, scaling, nullptr);
    }

private:
    explicit Gemm(detail::LoadedGemm loaded) noexcept : loaded_(std::move(loaded)) {}
    detail::LoadedGemm loaded_;
};

}  // namespace LODE_NAMESPACE::kernels
