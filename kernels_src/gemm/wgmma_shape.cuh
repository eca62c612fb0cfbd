// The shape of the product by wgmma, and where the tiles of a block are. Definitions choose it:
//
//     LODE_GEMM_COLUMNS      of a tile: 64, 128, 144, 192 or 256
//     LODE_GEMM_ROWS         of a consumer: 64 or 128
//     LODE_GEMM_CONSUMERS    warpgroups
//     LODE_GEMM_STAGES       of the ring
//     LODE_GEMM_BOXES        of C for each warp: 2 if one is to be filled while the other is copied
//     LODE_GEMM_CLUSTER_M, _N   tiles of a cluster; its blocks share rows of A and of B
//     LODE_GEMM_SPLIT_K      1 if blocks share tiles: each multiplies a part of k, and adds up a
//                            share of all sums, which go through the workspace. The grid has as
//                            many clusters for each tile as k has parts.
//     LODE_GEMM_POLLS        with which a block waits for the other blocks' sums, before it leaves
//                            its share to the last one
//     LODE_GEMM_GROUP        of cluster rows in the order of tiles
//
// and those of gemm.cuh the elements, the layouts and the epilogue. Rows of A, B and C start at
// multiples of 16 bytes. All maps have the 128-byte swizzle. A's boxes have 128 bytes of k and
// rows · consumers / cluster_n rows; if A is M-major, 64 of m and 64 of k. B's are alike. C's
// have 64 columns and 16 rows.
#pragma once

#include "wgmma.cuh"

#ifndef LODE_GEMM_COLUMNS
#define LODE_GEMM_COLUMNS 256
#endif
#ifndef LODE_GEMM_ROWS
#define LODE_GEMM_ROWS 64
#endif
#ifndef LODE_GEMM_CONSUMERS
#define LODE_GEMM_CONSUMERS 2
#endif
#ifndef LODE_GEMM_STAGES
#define LODE_GEMM_STAGES 4
#endif
#ifndef LODE_GEMM_BOXES
#define LODE_GEMM_BOXES 2
#endif
#ifndef LODE_GEMM_CLUSTER_M
#define LODE_GEMM_CLUSTER_M 2
#endif
#ifndef LODE_GEMM_CLUSTER_N
#define LODE_GEMM_CLUSTER_N 1
#endif
#ifndef LODE_GEMM_SPLIT_K
#define LODE_GEMM_SPLIT_K 0
#endif
#ifndef LODE_GEMM_POLLS
#define LODE_GEMM_POLLS 32
#endif
#ifndef LODE_GEMM_GROUP
#define LODE_GEMM_GROUP 16
#endif

namespace {

constexpr unsigned group_size = 128;
constexpr unsigned consumers = LODE_GEMM_CONSUMERS;
constexpr unsigned threads = group_size * (1 + consumers);
constexpr unsigned blocks = LODE_GEMM_ROWS / 64;  // Blocks of 64 rows in a consumer.
constexpr unsigned tile_m = LODE_GEMM_ROWS * consumers;
constexpr unsigned tile_n = LODE_GEMM_COLUMNS;
constexpr unsigned cluster_m = LODE_GEMM_CLUSTER_M;
constexpr unsigned cluster_n = LODE_GEMM_CLUSTER_N;
constexpr unsigned cluster = cluster_m * cluster_n;
constexpr bool split_k = LODE_GEMM_SPLIT_K != 0;
constexpr unsigned most_split_tiles = 96;  // Tiles of C if blocks share tiles.
constexpr unsigned stages = LODE_GEMM_STAGES;
constexpr unsigned row_bytes = 128;  // Bytes of a swizzled row.
constexpr unsigned step = row_bytes / element_bytes;
constexpr unsigned products = row_bytes / 32;  // In a step.
constexpr unsigned block_bytes = 64 * row_bytes;
constexpr unsigned a_bytes = tile_m * row_bytes;
constexpr unsigned b_bytes = tile_n * row_bytes;
constexpr unsigned stage_bytes = a_bytes + b_bytes;
constexpr unsigned ring_alignment = 1024;  // The swizzle pattern repeats after 8 rows.
constexpr unsigned box_columns = 64;       // Columns of C in a box.
constexpr unsigned box_rows = 16;
constexpr unsigned box_bytes = box_rows * row_bytes;
constexpr unsigned warp_boxes = LODE_GEMM_BOXES;

constexpr unsigned a_box = tile_m / cluster_n;  // Rows of a box.
constexpr unsigned b_box = tile_n / cluster_m;
static_assert(a_box % 64 == 0 || !a_m_major, "boxes of A have 64 rows");
static_assert(b_box % 64 == 0 || !b_n_major, "boxes of B have 64 columns");

/// A place in the ring, and the parity of its round.
struct Place {
    unsigned stage = 0;
    unsigned parity = 0;

    __device__ void advance() {
        if (++stage < stages) return;
        stage = 0;
        parity ^= 1U;
    }
};

/// The steps and tiles of a problem, and the block's share of them.
struct Work {
    unsigned rank_m = blockIdx.x % cluster_m;
    unsigned rank_n = blockIdx.x % cluster / cluster_m;
    unsigned clusters_m;
    unsigned clusters_n;
    unsigned tiles;      // Tiles of all clusters together.
    unsigned parts = 1;  // Parts of k.
    unsigned part = 0;   // The block's.
    unsigned first_tile = blockIdx.x / cluster;
    unsigned tile_stride = gridDim.x / cluster;
    unsigned first_step = 0;
    unsigned steps;

    __device__ Work(unsigned m, unsigned n, unsigned k)
        : clusters_m((m + tile_m * cluster_m - 1) / (tile_m * cluster_m)),
          clusters_n((n + tile_n * cluster_n - 1) / (tile_n * cluster_n)),
          tiles(clusters_m * clusters_n),
          steps((k + step - 1) / step) {
        if constexpr (split_k) {
            parts = tile_stride / tiles;
            part = first_tile / tiles;
            first_tile %= tiles;
            tile_stride = tiles;
            const unsigned all = steps;
            first_step = part * all / parts;
            steps = (part + 1) * all / parts - first_step;
        }
    }

    /// Where the block's part of a tile of the cluster begins.
    [[nodiscard]] __device__ TilePlace origin(unsigned tile) const {
        const auto place = place_of<LODE_GEMM_GROUP>(tile, clusters_m, clusters_n);
        return {(place.m * cluster_m + rank_m) * tile_m, (place.n * cluster_n + rank_n) * tile_n};
    }
};

}  // namespace
