// The matrix product by wgmma with input and output through the tensor memory accelerator (9.0a):
// persistent blocks of a producer warpgroup, which fills a ring of tiles of A and B, and of
// consumer warpgroups, which multiply. A consumer writes a tile during the first products of the
// next one. wgmma_shape.cuh has the definitions.
#include "exchange.cuh"

namespace {

/// Starts the copies of this block's part of a step of a matrix: the blocks of the cluster in the
/// mask need the same `rows` rows, and each copies one of `parts` parts to all of them.
template <bool mn_major, unsigned rows, unsigned parts>
__device__ void load(unsigned to, const TensorMap& map, unsigned first, unsigned k, unsigned part,
                     unsigned short mask, unsigned barrier) {
    constexpr unsigned part_rows = rows / parts;
    constexpr unsigned rows_of_box = mn_major ? 64 : part_rows;
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
    for (unsigned i = 0; i < cluster_n; ++i)
        same_a |= static_cast<unsigned short>(1U << (work.rank_m + i * cluster_m));
    const auto same_b =
        static_cast<unsigned short>(((1U << cluster_m) - 1) << (work.rank_n * cluster_m));
    Place at;
    for (unsigned t = work.first_tile; t < work.tiles; t += work.tile_stride) {
        const auto origin = work.origin(t);
        for (unsigned i = 0; i < work.steps; ++i) {
            // In the first round every stage is empty: the phase before the first counts as
            // complete.
            wait(empty + at.stage * 8, at.parity ^ 1U);
            const unsigned barrier = full + at.stage * 8;
            expect_bytes(barrier, stage_bytes);
            const unsigned to = ring + at.stage * stage_bytes;
            const unsigned k = (work.first_step + i) * step;
            load<a_m_major, tile_m, cluster_n>(to, a_map, origin.m, k, work.rank_n, same_a,
                                               barrier);
            load<b_n_major, tile_n, cluster_m>(to + a_bytes, b_map, origin.n, k, work.rank_m,
                                               same_b, barrier);
            at.advance();
        }
    }
}

/// Turns a lane's sums of a box into elements of C. A product leaves sums of eight columns after
/// the other.
__device__ void pack(unsigned (&to)[16], const float* sums, unsigned row, unsigned column,
                     const Epilogue& epilogue) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned r = row + lane / 4;
#pragma unroll
    for (unsigned i = 0; i < 8; ++i) {
        const unsigned c = column + i * 8 + lane % 4 * 2;
        to[i * 2] = epilogue.pair(sums[i * 4], sums[i * 4 + 1], r, c);
        to[i * 2 + 1] = epilogue.pair(sums[i * 4 + 2], sums[i * 4 + 3], r + 8, c);
    }
}

/// Writes to C through boxes in shared memory, one after the other; of one warp.
struct Writer {
    const TensorMap& map;
    Epilogue epilogue;
    unsigned boxes;  // The warp's, in shared memory.
    unsigned turn = 0;

    /// Writes the 16 rows and 64 columns from this place on.
    __device__ void write(const unsigned (&packed)[16], unsigned row, unsigned column) {
        if (row >= epilogue.m || column >= epilogue.n) return;
        const unsigned box = boxes + turn * box_bytes;
        turn = (turn + 1) % warp_boxes;
        // The other box may still be read; this one must have been.
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(warp_boxes - 1) : "memory");
        write(packed, row, column, box);
    }

    /// The same through a box that nothing uses.
    __device__ void write(const unsigned (&packed)[16], unsigned row, unsigned column,
                          unsigned box) const {
        if (row >= epilogue.m || column >= epilogue.n) return;
        const unsigned lane = threadIdx.x % 32;
        __syncwarp();
        const unsigned to = box + lane % 16 * row_bytes;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)  // 16 columns each.
            store_matrices(to + ((i * 2 + lane / 16) ^ (lane % 8)) * 16, packed[i * 4],
                           packed[i * 4 + 1], packed[i * 4 + 2], packed[i * 4 + 3]);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncwarp();
        if (lane == 0) store_box(map, column, row, box);
    }
};

/// A consumer's part of a tile, as elements of C that aren't written yet.
struct Packed {
    static constexpr unsigned across = (tile_n + box_columns - 1) / box_columns;
    static constexpr unsigned boxes = blocks * across;

    /// The first column of a box in the tile. The last box of a tile whose columns aren't a
    /// multiple of a box's overlaps with the one before, and writes the same elements there.
    [[nodiscard]] __device__ static constexpr unsigned column_of(unsigned box) {
        const unsigned first = box % across * box_columns;
        return first + box_columns <= tile_n ? first : tile_n - box_columns;
    }

    unsigned words[boxes][16];
    unsigned row;  // Where the warp's first box begins.
    unsigned column;

    /// `origin` is that of the consumer's part.
    __device__ void fill(const float (&d)[blocks][tile_n / 2], TilePlace origin,
                         const Epilogue& epilogue) {
        row = origin.m + threadIdx.x % group_size / 32 * box_rows;
        column = origin.n;
#pragma unroll
        for (unsigned i = 0; i < boxes; ++i)
            pack(words[i], d[i / across] + column_of(i) / 2, row + i / across * 64,
                 column + column_of(i), epilogue);
    }
    __device__ void write(unsigned i, Writer& writer) const {
        writer.write(words[i], row + i / across * 64, column + column_of(i));
    }
    /// Writes all through the consumer's rows of A in the ring, whose last products are done:
    /// nothing else is copied to them.
    __device__ void write_last(const Writer& writer, unsigned rows_of_a) const {
        static_assert(across <= stages, "a stage for each box of a block");
#pragma unroll
        for (unsigned i = 0; i < boxes; ++i) {
            const unsigned box = rows_of_a + i % across * stage_bytes + i / across * block_bytes +
                                 threadIdx.x % group_size / 32 * box_bytes;
            writer.write(words[i], row + i / across * 64, column + column_of(i), box);
        }
    }
};

/// A consumer's end of the ring.
struct Ring {
    unsigned stages_at;
    unsigned full;
    unsigned empty;
    unsigned first_block;  // The consumer's, of 64 rows of A.
    Place at;
    unsigned previous = 0;  // The stage whose products may be in flight.

    /// Starts the products of the next step; the first ones of a tile don't add.
    __device__ void start(float (&d)[blocks][tile_n / 2], bool adds) {
        wait(full + at.stage * 8, at.parity);
        const unsigned stage = stages_at + at.stage * stage_bytes;
        const auto a = descriptor_of<a_m_major>(stage + first_block * block_bytes);
        const auto b = descriptor_of<b_n_major>(stage + a_bytes);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (unsigned kk = 0; kk < products; ++kk) {
#pragma unroll
            for (unsigned block = 0; block < blocks; ++block)
                multiply<tile_n>(d[block],
                                 a + kk * descriptor_step<a_m_major> + block * (block_bytes >> 4),
                                 b + kk * descriptor_step<b_n_major>, adds || kk > 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }

    /// Waits for the products of the step before the one that was started last, if there is one.
    __device__ void finish_previous(bool exists) {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (exists) release();
        previous = at.stage;
        at.advance();
    }

    /// Waits for all products. The compiler doesn't know when they end, so this keeps it from
    /// reading sums earlier.
    __device__ void finish(float (&d)[blocks][tile_n / 2]) {
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        release();
#pragma unroll
        for (unsigned block = 0; block < blocks; ++block) {
#pragma unroll
            for (unsigned i = 0; i < tile_n / 2; ++i)
                asm volatile("" : "+f"(d[block][i])::"memory");
        }
    }

private:
    /// Tells the producers that the consumer has read the previous stage.
    __device__ void release() const {
        const unsigned thread = threadIdx.x % group_size;
        if constexpr (cluster == 1) {
            if (thread == 0) arrive(empty + previous * 8);
        } else {
            if (thread < cluster) arrive_at(empty + previous * 8, thread);
        }
    }
};

/// Multiplies and writes the consumer's tiles.
__device__ void consume(const Work& work, unsigned consumer, Ring ring, Writer writer,
                        void* workspace) {
    float d[blocks][tile_n / 2];
    Packed packed;
    bool pending = false;
    for (unsigned t = work.first_tile; t < work.tiles; t += work.tile_stride) {
        // During the first steps, the boxes of the previous tile are written.
#pragma unroll
        for (unsigned i = 0; i < Packed::boxes; ++i) {
            if (i < work.steps) ring.start(d, i > 0);
            if (pending) packed.write(i, writer);
            if (i < work.steps) ring.finish_previous(i > 0);
        }
        for (unsigned i = Packed::boxes; i < work.steps; ++i) {
            ring.start(d, true);
            ring.finish_previous(true);
        }
        ring.finish(d);
        pending = true;
        auto origin = work.origin(t);
        if constexpr (split_k) {
            if (work.parts > 1) {
                // All loads have arrived, and after the exchange's barrier all products are done.
                Exchange(workspace, work)
                    .add_up(d, consumer, origin, writer.map, writer.epilogue, ring.stages_at);
                pending = false;
                break;
            }
        }
        origin.m += ring.first_block * 64;
        packed.fill(d, origin, writer.epilogue);
    }
    if (pending) packed.write_last(writer, ring.stages_at + ring.first_block * block_bytes);
    // Shared memory must stay until it is read.
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    gemm_wgmma(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
               const __grid_constant__ TensorMap c_map, unsigned m, unsigned n, unsigned k,
               float scale, const float* __restrict__ operand, void* workspace) {
    extern __shared__ unsigned char dynamic[];
    __shared__ __align__(8) unsigned long long full_barriers[stages];
    __shared__ __align__(8) unsigned long long empty_barriers[stages];
    const unsigned ring =
        (shared_address(dynamic) + ring_alignment - 1) / ring_alignment * ring_alignment;
    const unsigned full = shared_address(full_barriers);
    const unsigned empty = shared_address(empty_barriers);
    const Work work(m, n, k);

    if (threadIdx.x == group_size) {
        prefetch(a_map);
        prefetch(b_map);
        prefetch(c_map);
    }
    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < stages; ++s) {
            init_barrier(full + s * 8, 1);
            init_barrier(empty + s * 8, consumers * cluster);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    if (cluster > 1) {
        cluster_sync();
    } else {
        __syncthreads();
    }

    // The work before this place overlaps with the end of the kernel before.
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");

    const unsigned group = threadIdx.x / group_size;
    if (group == 0) {
        if (consumers == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(a_map, b_map, work, ring, full, empty);
        __syncwarp();
    } else {
        if (consumers == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const unsigned warp = threadIdx.x / 32 - group_size / 32;
        const unsigned consumer = group - 1;
        consume(work, consumer, {ring, full, empty, consumer * blocks, {}},
                {c_map,
                 {scale, operand, m, n},
                 ring + stages * stage_bytes + warp * warp_boxes * box_bytes},
                workspace);
    }
    // A block must not end while others of its cluster copy to it or arrive at its barriers.
    if (cluster > 1) cluster_sync();
}
