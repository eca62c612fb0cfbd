// The matrix product by wgmma with input and output through the tensor memory accelerator (9.0a):
// persistent blocks of a producer warpgroup, which fills a ring of tiles of A and B, and of consumer
// warpgroups, which multiply. Definitions choose the shape:
//
//     LODE_GEMM_COLUMNS      of a tile: 64, 128, 192 or 256
//     LODE_GEMM_ROWS         of a consumer: 64 or 128
//     LODE_GEMM_CONSUMERS    warpgroups
//     LODE_GEMM_PING_PONG    each consumer has a tile of its own, and they take turns: one writes
//                            its tile while the other multiplies. Else they share a tile.
//     LODE_GEMM_STAGES       of the ring
//     LODE_GEMM_CLUSTER_M, _N   tiles of a cluster; its blocks share rows of A and of B
//     LODE_GEMM_SPLITS       parts of k: each block of a cluster sums one, and they add up their sums
//                            through shared memory. A block then has one tile.
//     LODE_GEMM_HALVES       the tiles of the last round are halved if that keeps more blocks busy
//     LODE_GEMM_GROUP        of cluster rows in the order of tiles
//
// and those of gemm.cuh the elements, the layouts and the epilogue. Rows of A, B and C start at
// multiples of 16 bytes. All maps have the 128-byte swizzle. A's boxes have 128 bytes of k and
// rows · consumers / cluster_n rows; if A is M-major, 64 of m and 64 of k. B's are alike. C's
// have 64 columns and 16 rows.
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
#ifndef LODE_GEMM_CLUSTER_M
#define LODE_GEMM_CLUSTER_M 2
#endif
#ifndef LODE_GEMM_CLUSTER_N
#define LODE_GEMM_CLUSTER_N 1
#endif
#ifndef LODE_GEMM_SPLITS
#define LODE_GEMM_SPLITS 1
#endif
#ifndef LODE_GEMM_GROUP
#define LODE_GEMM_GROUP 8
#endif

namespace {

#ifdef LODE_GEMM_PING_PONG
constexpr bool ping_pong = true;
#else
constexpr bool ping_pong = false;
#endif
constexpr unsigned group_size = 128;
constexpr unsigned consumers = LODE_GEMM_CONSUMERS;
constexpr unsigned threads = group_size * (1 + consumers);
constexpr unsigned sharing = ping_pong ? 1 : consumers;  // Consumers of a tile.
constexpr unsigned blocks = LODE_GEMM_ROWS / 64;         // Of 64 rows in a consumer.
constexpr unsigned tile_m = LODE_GEMM_ROWS * sharing;
constexpr unsigned tile_n = LODE_GEMM_COLUMNS;
constexpr unsigned cluster_m = LODE_GEMM_CLUSTER_M;
constexpr unsigned cluster_n = LODE_GEMM_CLUSTER_N;
#ifdef LODE_GEMM_HALVES
constexpr bool halves = true;
#else
constexpr bool halves = false;
#endif
constexpr unsigned splits = LODE_GEMM_SPLITS;
constexpr unsigned peers = cluster_m * cluster_n;  // Blocks of a cluster that sum the same part of k.
constexpr unsigned cluster = peers * splits;
constexpr unsigned stages = LODE_GEMM_STAGES;
constexpr unsigned row_bytes = 128;  // Of a swizzled row.
constexpr unsigned step = row_bytes / element_bytes;
constexpr unsigned products = row_bytes / 32;  // In a step.
constexpr unsigned block_bytes = 64 * row_bytes;
constexpr unsigned a_bytes = tile_m * row_bytes;
constexpr unsigned b_bytes = tile_n * row_bytes;
constexpr unsigned stage_bytes = a_bytes + b_bytes;
constexpr unsigned ring_alignment = 1024;  // The swizzle pattern repeats after 8 rows.
constexpr unsigned box_columns = 64;       // Of C.
constexpr unsigned box_rows = 16;
constexpr unsigned box_bytes = box_rows * row_bytes;
constexpr unsigned warp_boxes = 2;  // A warp fills one while the other is copied.

constexpr unsigned a_box = tile_m / cluster_n;  // Rows of a box.
constexpr unsigned b_box = tile_n / cluster_m / (halves ? 2 : 1);
constexpr unsigned unit_bytes = box_rows * box_columns * 4;  // Sums of a box.
constexpr unsigned units = tile_m / box_rows * (tile_n / box_columns);

static_assert(splits == 1 || (!ping_pong && units * unit_bytes <= stages * stage_bytes),
              "the sums of a tile fit into the ring");
static_assert(a_box % 64 == 0 || !a_m_major, "boxes of A have 64 rows");
static_assert(b_box % 64 == 0 || !b_n_major, "boxes of B have 64 columns");
static_assert(!halves || tile_n % 128 == 0, "boxes of C have 64 columns");

/// A place in the ring, and the parity of its round.
struct Place {
    unsigned stage = 0;
    unsigned parity = 0;

    __device__ void advance(unsigned by = 1) {
        const unsigned next = stage + by;
        parity ^= next / stages & 1U;
        stage = next % stages;
    }
};

/// The steps and tiles of a problem, and the block's part of them.
struct Work {
    unsigned split = blockIdx.x % cluster / peers;
    unsigned rank_m = blockIdx.x % cluster_m;
    unsigned rank_n = blockIdx.x % peers / cluster_m;
    unsigned first_step;
    unsigned steps;
    unsigned clusters_m;
    unsigned clusters_n;
    unsigned tiles;  // Of the clusters together.
    unsigned whole;  // Those that aren't halved.

    __device__ Work(unsigned m, unsigned n, unsigned k)
        : first_step(split * ((k + step - 1) / step) / splits),
          steps((split + 1) * ((k + step - 1) / step) / splits - first_step),
          clusters_m((m + tile_m * cluster_m - 1) / (tile_m * cluster_m)),
          clusters_n((n + tile_n * cluster_n - 1) / (tile_n * cluster_n)),
          tiles(clusters_m * clusters_n),
          whole(tiles) {
        const unsigned rest = tiles % (gridDim.x / cluster);
        if (halves && rest * 2 <= gridDim.x / cluster) whole -= rest;
    }

    /// Tiles and halves of tiles, of the clusters together.
    [[nodiscard]] __device__ unsigned items() const { return whole + (tiles - whole) * 2; }

    /// Where the block's part of an item begins.
    [[nodiscard]] __device__ TilePlace origin(unsigned item) const {
        const bool half = is_half(item);
        const unsigned tile = half ? whole + (item - whole) / 2 : item;
        const auto place = place_of<LODE_GEMM_GROUP>(tile, clusters_m, clusters_n);
        return {(place.m * cluster_m + rank_m) * tile_m,
                (place.n * cluster_n + rank_n) * tile_n +
                    (half && (item - whole) % 2 != 0 ? tile_n / 2 : 0)};
    }
    [[nodiscard]] __device__ bool is_half(unsigned item) const { return halves && item >= whole; }
};

/// Starts the copies of this block's part of a step of a matrix: the blocks of the cluster in the
/// mask need the same `rows` rows, and each copies one of `parts` parts to all of them. A box has
/// `box_rows` rows if the matrix is K-major.
template <bool mn_major, unsigned rows, unsigned parts, unsigned box_rows>
__device__ void load(unsigned to, const TensorMap& map, unsigned first, unsigned k, unsigned part,
                     unsigned short mask, unsigned barrier) {
    constexpr unsigned part_rows = rows / parts;
    constexpr unsigned rows_of_box = mn_major ? 64 : box_rows;
    to += part * part_rows * row_bytes;
    first += part * part_rows;
#pragma unroll
    for (unsigned i = 0; i < part_rows / rows_of_box; ++i) {
        const unsigned row = first + i * rows_of_box;
        const unsigned x = mn_major ? row : k;
        const unsigned y = mn_major ? k : row;
        const unsigned box = to + i * rows_of_box * row_bytes;
        if constexpr (parts == 1) {
            load_box(box, map, x, y, barrier);
        } else {
            load_box(box, map, x, y, barrier, mask);
        }
    }
}

/// Fills the ring; run by one thread of the producer warpgroup.
__device__ void produce(const TensorMap& a_map, const TensorMap& b_map, const Work& work,
                        unsigned ring, unsigned full, unsigned empty) {
    // Blocks that need the same rows of A are cluster_m ranks apart, those for B one rank.
    unsigned short same_a = 0;
    const unsigned first_rank = work.split * peers;
    for (unsigned i = 0; i < cluster_n; ++i)
        same_a |= static_cast<unsigned short>(1U << (first_rank + work.rank_m + i * cluster_m));
    const auto same_b = static_cast<unsigned short>(((1U << cluster_m) - 1)
                                                    << (first_rank + work.rank_n * cluster_m));
    Place at;
    for (unsigned t = blockIdx.x / cluster; t < work.items(); t += gridDim.x / cluster) {
        const auto origin = work.origin(t);
        const bool half = work.is_half(t);
        for (unsigned i = 0; i < work.steps; ++i) {
            // In the first round every stage is empty: the phase before the first counts as
            // complete.
            wait(empty + at.stage * 8, at.parity ^ 1U);
            const unsigned barrier = full + at.stage * 8;
            expect_bytes(barrier, half ? stage_bytes - b_bytes / 2 : stage_bytes);
            const unsigned to = ring + at.stage * stage_bytes;
            const unsigned k = (work.first_step + i) * step;
            load<a_m_major, tile_m, cluster_n, a_box>(to, a_map, origin.m, k, work.rank_n, same_a,
                                                      barrier);
            if (half) {
                load<b_n_major, halves ? tile_n / 2 : tile_n, cluster_m, b_box>(
                    to + a_bytes, b_map, origin.n, k, work.rank_m, same_b, barrier);
            } else {
                load<b_n_major, tile_n, cluster_m, b_box>(to + a_bytes, b_map, origin.n, k,
                                                          work.rank_m, same_b, barrier);
            }
            at.advance();
        }
    }
}

/// Writes sums to C through boxes in shared memory, one after the other; of one warp.
struct Writer {
    const TensorMap& map;
    Epilogue epilogue;
    unsigned boxes;  // The warp's, in shared memory.
    unsigned turn = 0;

    /// Writes the 16 rows and 64 columns from this place on; `v` are the lane's sums, as a product
    /// leaves them: eight columns after the other.
    __device__ void write(const float* v, unsigned row, unsigned column) {
        if (row >= epilogue.m || column >= epilogue.n) return;
        const unsigned lane = threadIdx.x % 32;
        const unsigned box = boxes + turn % warp_boxes * box_bytes;
        ++turn;
        // The other box may still be read; this one must have been.
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(warp_boxes - 1) : "memory");
        __syncwarp();
        const unsigned to = box + lane % 16 * row_bytes;
        const unsigned r = row + lane / 4;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {  // 16 columns each.
            const unsigned c = column + i * 16 + lane % 4 * 2;
            const float* const w = v + i * 8;
            store_matrices(to + ((i * 2 + lane / 16) ^ (lane % 8)) * 16,
                           epilogue.pair(w[0], w[1], r, c), epilogue.pair(w[2], w[3], r + 8, c),
                           epilogue.pair(w[4], w[5], r, c + 8),
                           epilogue.pair(w[6], w[7], r + 8, c + 8));
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane == 0) store_box(map, column, row, box);
    }
};

/// Writes a consumer's sums of a tile with so many columns.
template <unsigned columns>
__device__ void write_tile(const float (&d)[blocks][tile_n / 2], Writer& writer, TilePlace origin) {
    const unsigned row = origin.m + threadIdx.x % group_size / 32 * box_rows;
#pragma unroll
    for (unsigned block = 0; block < blocks; ++block) {
#pragma unroll
        for (unsigned j = 0; j < columns / box_columns; ++j)
            writer.write(d[block] + j * 32, row + block * 64, origin.n + j * box_columns);
    }
}

/// Adds up the sums of the cluster's splits and writes a part of the tile: keeps the consumer's in
/// the ring, where units of 16 rows and 64 columns lie, eight columns of all lanes after the other;
/// the splits and their warps take turns in summing the units.
__device__ void write_sum(const float (&d)[blocks][tile_n / 2], Writer& writer, const Work& work,
                          unsigned consumer, unsigned ring, TilePlace origin) {
    constexpr unsigned across = tile_n / box_columns;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x % group_size / 32;
    // The other consumers may still read the ring.
    asm volatile("bar.sync 1, %0;" ::"n"(consumers * group_size) : "memory");
#pragma unroll
    for (unsigned block = 0; block < blocks; ++block) {
        const unsigned unit = ((consumer * blocks + block) * 4 + warp) * across;
#pragma unroll
        for (unsigned i = 0; i < tile_n / 8; ++i) {
            const float* const v = d[block] + i * 4;
            asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(
                             ring + unit * unit_bytes + i * 512 + lane * 16),
                         "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                         : "memory");
        }
    }
    cluster_sync();
    const unsigned peer = work.rank_n * cluster_m + work.rank_m;
    for (unsigned unit = work.split + (consumer * 4 + warp) * splits; unit < units;
         unit += consumers * 4 * splits) {
        float sum[32] = {};
#pragma unroll
        for (unsigned split = 0; split < splits; ++split) {
            const unsigned from = address_at(ring + unit * unit_bytes + lane * 16,
                                             split * peers + peer);
#pragma unroll
            for (unsigned i = 0; i < 8; ++i) {
                float v[4];
                asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                             : "r"(from + i * 512)
                             : "memory");
#pragma unroll
                for (unsigned e = 0; e < 4; ++e)
                    sum[i * 4 + e] += v[e];
            }
        }
        writer.write(sum, origin.m + unit / across * box_rows,
                     origin.n + unit % across * box_columns);
    }
}

/// Ping-pong: waits until it is this consumer's turn to multiply, or passes the turn on.
__device__ void take_turn(unsigned consumer) {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + consumer), "n"(2 * group_size) : "memory");
}
__device__ void pass_turn(unsigned consumer) {
    asm volatile("bar.arrive %0, %1;" ::"r"(1 + (consumer ^ 1U)), "n"(2 * group_size) : "memory");
}

/// The parts of a consumer that its products read.
struct Ring {
    unsigned stages_at;
    unsigned full;
    unsigned empty;
    unsigned first_block;  // The consumer's, of 64 rows of A.
    unsigned first_rank;   // Of the blocks that share its data.
    Place at;

    /// Tells the producers that the consumer has read a stage.
    __device__ void release(unsigned stage) const {
        const unsigned thread = threadIdx.x % group_size;
        if constexpr (peers == 1) {
            if (thread == 0) arrive(empty + stage * 8);
        } else {
            if (thread < peers) arrive_at(empty + stage * 8, first_rank + thread);
        }
    }
};

/// Multiplies the steps of a tile with so many columns; the last products may be in flight. Returns
/// the stage that they read.
template <unsigned columns>
__device__ unsigned multiply_tile(float (&d)[blocks][tile_n / 2], Ring& ring, unsigned steps) {
    unsigned previous = 0;
    for (unsigned i = 0; i < steps; ++i) {
        wait(ring.full + ring.at.stage * 8, ring.at.parity);
        const unsigned stage = ring.stages_at + ring.at.stage * stage_bytes;
        const auto a = descriptor_of<a_m_major>(stage + ring.first_block * block_bytes);
        const auto b = descriptor_of<b_n_major>(stage + a_bytes);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (unsigned kk = 0; kk < products; ++kk) {
#pragma unroll
            for (unsigned block = 0; block < blocks; ++block)
                multiply<columns>(
                    d[block], a + kk * descriptor_step<a_m_major> + block * (block_bytes >> 4),
                    b + kk * descriptor_step<b_n_major>, i > 0 || kk > 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        // Waits until only this step's products are in flight: those of the previous step are done.
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (i > 0) ring.release(previous);
        previous = ring.at.stage;
        ring.at.advance();
    }
    return previous;
}

/// Waits for the products in flight. The compiler doesn't know when they end, so this keeps it from
/// reading sums earlier.
__device__ void wait_for_products(float (&d)[blocks][tile_n / 2]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (unsigned block = 0; block < blocks; ++block) {
#pragma unroll
        for (unsigned i = 0; i < tile_n / 2; ++i)
            asm volatile("" : "+f"(d[block][i])::"memory");
    }
}

/// Multiplies and writes the consumer's tiles.
__device__ void consume(const Work& work, unsigned consumer, Ring ring, Writer writer) {
    const unsigned stride = gridDim.x / cluster;
    unsigned first = blockIdx.x / cluster;
    if (ping_pong && consumer == 1) {
        first += stride;
        ring.at.advance(work.steps);
        pass_turn(consumer);
    }
    float d[blocks][tile_n / 2];
    for (unsigned t = first; t < work.items(); t += ping_pong ? 2 * stride : stride) {
        auto origin = work.origin(t);
        const bool half = work.is_half(t);
        if (ping_pong) take_turn(consumer);
        const unsigned last = half ? multiply_tile<halves ? tile_n / 2 : tile_n>(d, ring, work.steps)
                                   : multiply_tile<tile_n>(d, ring, work.steps);
        if (ping_pong) {
            pass_turn(consumer);
            ring.at.advance(work.steps);
        }
        wait_for_products(d);
        ring.release(last);
        if constexpr (splits > 1) {
            write_sum(d, writer, work, consumer, ring.stages_at, origin);
        } else {
            origin.m += ring.first_block * 64;
            if (half) {
                write_tile<halves ? tile_n / 2 : tile_n>(d, writer, origin);
            } else {
                write_tile<tile_n>(d, writer, origin);
            }
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    gemm_wgmma(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
               const __grid_constant__ TensorMap c_map, unsigned m, unsigned n, unsigned k,
               float scale, const float* __restrict__ operand) {
    extern __shared__ unsigned char dynamic[];
    __shared__ __align__(8) unsigned long long full_barriers[stages];
    __shared__ __align__(8) unsigned long long empty_barriers[stages];
    const unsigned ring =
        (shared_address(dynamic) + ring_alignment - 1) / ring_alignment * ring_alignment;
    const unsigned full = shared_address(full_barriers);
    const unsigned empty = shared_address(empty_barriers);
    const Work work(m, n, k);

    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < stages; ++s) {
            init_barrier(full + s * 8, 1);
            init_barrier(empty + s * 8, sharing * peers);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    if (cluster > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }

    const unsigned group = threadIdx.x / group_size;
    if (group == 0) {
        if (consumers == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(a_map, b_map, work, ring, full, empty);
        __syncwarp();
        if (splits > 1) cluster_sync();  // That of write_sum().
    } else {
        if (consumers == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const unsigned warp = threadIdx.x / 32 - group_size / 32;
        const unsigned consumer = group - 1;
        consume(work, consumer,
                {ring, full, empty, ping_pong ? 0 : consumer * blocks, work.split * peers, {}},
                {c_map,
                 {scale, operand, m, n},
                 ring + stages * stage_bytes + warp * warp_boxes * box_bytes});
    }
    // A block must not end while others of its cluster copy to it or arrive at its barriers.
    if (cluster > 1) cluster_sync();
}
