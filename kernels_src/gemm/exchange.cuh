// How blocks that share a tile of the product by wgmma add up their sums and write the tile.
#pragma once

#include "wgmma_shape.cuh"

namespace {

/// The workspace of blocks that share tiles: first a word for each tile, zero before and after
/// every launch. The sums of each tile follow for each part of k: those of eight columns after the
/// other, as the lanes of a warp have them.
///
/// Each of the first `shares` blocks of a tile writes a share of its boxes. It waits for the other
/// blocks' sums, but not forever: blocks needn't be resident together. A block that has waited long
/// enough leaves its share to the last block that arrives. A tile's word counts the blocks that
/// have left their sums (bits 0 to 7) and those that no longer read the word (bits 8 to 15). It has
/// a bit for each share that is left to the last block.
class Exchange {
public:
    __device__ Exchange(void* workspace, const Work& work)
        : word_(static_cast<unsigned*>(workspace) + work.first_tile * cluster +
                blockIdx.x % cluster),
          sums_(static_cast<float*>(workspace) + most_split_tiles +
                (work.first_tile * cluster + blockIdx.x % cluster) * (tile_m * tile_n)),
          pitch_(static_cast<unsigned long long>(work.tiles) * cluster * tile_m * tile_n),
          parts_(work.parts),
          part_(work.part),
          shares_(min(work.parts, most_shares)) {}

    /// Leaves a consumer's sums and writes the block's share of the tile at `origin`; of all
    /// consumers. Boxes go through the shared memory at `boxes_at`, which nothing uses once every
    /// consumer has called this.
    __device__ void add_up(const float (&d)[blocks][tile_n / 2], unsigned consumer,
                           TilePlace origin, const TensorMap& map, const Epilogue& epilogue,
                           unsigned boxes_at) const {
#pragma unroll
        for (unsigned block = 0; block < blocks; ++block) {
            const unsigned strip = (consumer * blocks + block) * 4 + threadIdx.x % group_size / 32;
            float* const to = sums_ + part_ * pitch_ + place_of(strip, 0);
#pragma unroll
            for (unsigned i = 0; i < tile_n / 8; ++i) {
                const float* const v = d[block] + i * 4;
                __stcg(reinterpret_cast<float4*>(to + i * slice),
                       make_float4(v[0], v[1], v[2], v[3]));
            }
        }
        const unsigned mine = shares_of_block();
        for (unsigned share = 0; share < shares_; ++share) {
            if ((mine >> share & 1U) == 0) continue;
            const unsigned end = first_box(share + 1) * 4;
            unsigned quarter = first_box(share) * 4 + warp();
            if (parts_ > 4) {
                for (; quarter < end; quarter += warps)
                    fill<1, 8>(quarter, end, origin, epilogue, boxes_at);
            } else {
                for (; quarter < end; quarter += warps * 2)
                    fill<2, 4>(quarter, end, origin, epilogue, boxes_at);
            }
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        consumers_sync();
        for (unsigned share = 0; share < shares_; ++share) {
            if ((mine >> share & 1U) == 0 || threadIdx.x % 32 != 0) continue;
            for (unsigned box = first_box(share) + warp(); box < first_box(share + 1);
                 box += warps) {
                const unsigned row = origin.m + box / across * box_rows;
                const unsigned column = origin.n + box % across * box_columns;
                if (row < epilogue.m && column < epilogue.n)
                    store_box(map, column, row, boxes_at + box * box_bytes);
            }
        }
        if (threadIdx.x == group_size) leave_word();
    }

private:
    static constexpr unsigned warps = consumers * 4;
    static constexpr unsigned slice = 128;  // Elements of eight columns of 16 rows.
    static constexpr unsigned across = tile_n / box_columns;
    static constexpr unsigned boxes = tile_m / box_rows * across;
    static constexpr unsigned most_shares = boxes < 16 ? boxes : 16;
    static_assert(tile_n % box_columns == 0 || !split_k, "whole boxes");
    static_assert(boxes * box_bytes <= stages * stage_bytes, "the boxes of a tile fit in the ring");

    [[nodiscard]] __device__ static unsigned warp() {
        return threadIdx.x / 32 - group_size / 32;
    }
    [[nodiscard]] __device__ static unsigned place_of(unsigned strip, unsigned columns) {
        return strip * (box_rows * tile_n) + columns * box_rows + threadIdx.x % 32 * 4;
    }
    [[nodiscard]] __device__ unsigned first_box(unsigned share) const {
        return share * boxes / shares_;
    }
    __device__ static void consumers_sync() {
        asm volatile("bar.sync 1, %0;" ::"n"(consumers * group_size) : "memory");
    }

    /// A bit for each share that the block writes. All sums can be read if there is one.
    [[nodiscard]] __device__ unsigned shares_of_block() const {
        __shared__ unsigned mine;
        consumers_sync();
        if (threadIdx.x == group_size) mine = wait_for_sums();
        consumers_sync();
        return mine;
    }

    /// The last block to leave the word makes it zero for the next launch.
    __device__ void leave_word() const {
        unsigned before;
        asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 0x100;"
                     : "=r"(before)
                     : "l"(word_)
                     : "memory");
        if ((before >> 8 & 0xffU) == parts_ - 1)
            asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(word_) : "memory");
    }

    [[nodiscard]] __device__ unsigned wait_for_sums() const {
        const unsigned own = part_ < shares_ ? 1U << part_ : 0;
        unsigned word;
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                     : "=r"(word)
                     : "l"(word_)
                     : "memory");
        if ((word & 0xffU) == parts_ - 1) return own | word >> 16;
        if (own == 0) return 0;
        for (unsigned i = 0; i < LODE_GEMM_POLLS; ++i) {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(word)
                         : "l"(word_)
                         : "memory");
            if ((word & 0xffU) == parts_) return own;
        }
        asm volatile("atom.acq_rel.gpu.global.or.b32 %0, [%1], %2;"
                     : "=r"(word)
                     : "l"(word_), "r"(own << 16)
                     : "memory");
        return (word & 0xffU) == parts_ ? own : 0;
    }

    /// Sums quarters of boxes, of 16 columns each, from this one on with the next ones of the warp
    /// up to the end: always in the order of the parts, so that a product has the same bits every
    /// time. Loads of that many parts are in flight together.
    template <unsigned quarters, unsigned together>
    __device__ void fill(unsigned quarter, unsigned end, TilePlace origin, const Epilogue& epilogue,
                         unsigned boxes_at) const {
        float sums[quarters][8] = {};
        for (unsigned part = 0; part < parts_; part += together) {
            float4 v[together][quarters][2];
#pragma unroll
            for (unsigned p = 0; p < together; ++p) {
#pragma unroll
                for (unsigned q = 0; q < quarters; ++q) {
                    const unsigned at = quarter + q * warps;
                    const float* const from = sums_ + (part + p) * pitch_ +
                                              place_of(at / (4 * across), at % (4 * across) * 16);
#pragma unroll
                    for (unsigned i = 0; i < 2; ++i) {
                        v[p][q][i] = make_float4(0, 0, 0, 0);
                        if (part + p < parts_ && at < end)
                            v[p][q][i] = __ldcg(reinterpret_cast<const float4*>(from + i * slice));
                    }
                }
            }
#pragma unroll
            for (unsigned p = 0; p < together; ++p) {
#pragma unroll
                for (unsigned q = 0; q < quarters; ++q) {
#pragma unroll
                    for (unsigned i = 0; i < 2; ++i) {
                        sums[q][i * 4] += v[p][q][i].x;
                        sums[q][i * 4 + 1] += v[p][q][i].y;
                        sums[q][i * 4 + 2] += v[p][q][i].z;
                        sums[q][i * 4 + 3] += v[p][q][i].w;
                    }
                }
            }
        }
#pragma unroll
        for (unsigned q = 0; q < quarters; ++q) {
            const unsigned at = quarter + q * warps;
            if (at < end) store(sums[q], at, origin, epilogue, boxes_at);
        }
    }

    /// Turns the sums of a quarter into elements of C in its box.
    __device__ static void store(const float (&sums)[8], unsigned quarter, TilePlace origin,
                                 const Epilogue& epilogue, unsigned boxes_at) {
        const unsigned lane = threadIdx.x % 32;
        const unsigned row = origin.m + quarter / (4 * across) * box_rows + lane / 4;
        const unsigned column = origin.n + quarter % (4 * across) * 16 + lane % 4 * 2;
        unsigned words[4];
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            words[i * 2] = epilogue.pair(sums[i * 4], sums[i * 4 + 1], row, column + i * 8);
            words[i * 2 + 1] =
                epilogue.pair(sums[i * 4 + 2], sums[i * 4 + 3], row + 8, column + i * 8);
        }
        const unsigned to = boxes_at + quarter / 4 * box_bytes + lane % 16 * row_bytes;
        store_matrices(to + ((quarter % 4 * 2 + lane / 16) ^ (lane % 8)) * 16, words[0], words[1],
                       words[2], words[3]);
    }

    unsigned* word_;
    float* sums_;  // The first part's.
    unsigned long long pitch_;
    unsigned parts_;
    unsigned part_;
    unsigned shares_;
};

}  // namespace
