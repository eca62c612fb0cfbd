// What each family of matrix products computes, and the shapes of the row wgmma.
#pragma once

#include "gemm/elements.hpp"

#include <lode/jit/options.hpp>
#include <lode/runtime/variants.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::kernels::gemm {

/// C = epilogue(scale · A · Bᵀ): A has m rows of k, B n rows of k, C m rows of n, all row-major, or
/// as the layout says.
struct Product {
    std::string_view family;
    const ElementFormat& in;   ///< A and B.
    const ElementFormat& out;  ///< C.
    bool a_m_major = false;    ///< A is stored as k rows of m.
    bool b_n_major = false;    ///< B is stored as k rows of n.
    float scale = 1;
    /// LODE_GEMM_EPILOGUE, whose operand is a bias for each column; empty for none.
    std::string_view epilogue = {};
    double (*activation)(double x) noexcept = nullptr;  ///< The epilogue's.

    /// For the compilation of any row.
    [[nodiscard]] std::vector<Definition> definitions() const;
};

inline constexpr std::size_t product_count = 11;
/// All products, in alphabetical order of their families.
std::span<const Product> products() noexcept;

/// nullptr if it isn't a family of matrix products.
const Product* find_product(std::string_view family) noexcept;

/// The definitions of wgmma_shape.cuh, which explains them. The defaults are the source's.
struct WgmmaTile {
    std::uint32_t columns = 256;
    std::uint32_t rows = 64;
    std::uint32_t consumers = 2;
    std::uint32_t stages = 4;
    std::uint32_t boxes = 2;
    std::uint32_t cluster_m = 2;
    std::uint32_t cluster_n = 1;
    bool split_k = false;
    std::uint32_t group = 16;

    static constexpr std::uint32_t c_box_rows = 16;
    /// With split_k, as in wgmma_shape.cuh.
    static constexpr std::uint32_t most_split_tiles = 96;
    static constexpr std::uint32_t most_parts = 255;  ///< Counted in eight bits of a word.

    [[nodiscard]] std::uint32_t tile_m() const noexcept { return rows * consumers; }
    [[nodiscard]] std::uint32_t cluster() const noexcept { return cluster_m * cluster_n; }
    [[nodiscard]] std::uint32_t threads() const noexcept { return 128 * (1 + consumers); }
    [[nodiscard]] std::uint32_t a_box_rows() const noexcept { return tile_m() / cluster_n; }
    [[nodiscard]] std::uint32_t b_box_rows() const noexcept { return columns / cluster_m; }
    /// Dynamic shared memory: the ring, boxes of C for each warp of a consumer, alignment.
    [[nodiscard]] std::uint32_t shared_bytes() const noexcept {
        return stages * (tile_m() + columns) * 128 + consumers * 4 * boxes * 2048 + 1024;
    }
    /// About how many clusters run at a time. Those of more than two blocks leave some
    /// multiprocessors idle.
    [[nodiscard]] std::uint32_t resident_clusters(
        const VariantDeviceProperties& properties) const noexcept;
    /// Tiles of the whole product, in clusters.
    [[nodiscard]] std::uint32_t clusters(const Problem& problem) const noexcept;
    /// Parts of k: 1 without split_k.
    [[nodiscard]] std::uint32_t parts(const Problem& problem,
                                      const VariantDeviceProperties& properties,
                                      const Product& product) const;
    /// What blocks exchange, zeros before the first launch; 0 without split_k.
    [[nodiscard]] std::uint64_t workspace_bytes(const LaunchShape& shape) const noexcept;
    [[nodiscard]] LaunchShape shape(const Problem& problem,
                                    const VariantDeviceProperties& properties,
                                    const Product& product) const;
    /// How the maps of A and B fetch into L2: 256 bytes where a C that exceeds A, B and the L2
    /// cache keeps rows of them from staying there, and no blocks of a cluster share them.
    [[nodiscard]] TensorL2Fetch l2_fetch(const Problem& problem,
                                         const Product& product) const noexcept;
    /// About how many cycles a block needs for a tile.
    [[nodiscard]] double cycles(const Problem& problem, std::uint32_t parts,
                                const Product& product) const;
    /// About how many cycles the product takes.
    [[nodiscard]] double estimate(const Problem& problem, const VariantDeviceProperties& properties,
                                  const Product& product) const;
    /// Those that differ from the defaults.
    [[nodiscard]] std::vector<Definition> definitions() const;
};

/// The rows of variants.def for a product.
std::vector<VariantRow> rows_of(const Product& product);

/// The shape of a row; nullptr if it isn't a row of gemm_sm90a.cu.
const WgmmaTile* tile_of(const VariantRow& row) noexcept;

}  // namespace LODE_NAMESPACE::kernels::gemm
