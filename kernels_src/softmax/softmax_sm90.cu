// A row for each cluster of blocks, which exchange their parts through distributed shared memory
// (9.0). Up to 32 columns for each thread of the cluster, a multiple of 4; addresses are multiples
// of
// 16. A thread keeps half of its columns in registers and half in shared memory, so that two blocks
// of 1,024 threads fit a multiprocessor: one loads while the other writes.
//
// Dynamic shared memory: 64 bytes for each thread.
#include "softmax.cuh"

namespace {

constexpr unsigned cluster_size = 8;

/// Stores into the same variable of another block of the cluster.
__device__ void store_at_rank(Part* variable, unsigned rank, const Part& part) {
    const auto here = static_cast<unsigned>(__cvta_generic_to_shared(variable));
    unsigned there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(part.largest),
                 "f"(part.sum)
                 : "memory");
}

/// A thread's share of a row, as in Share: the first vectors in registers, the others in shared
/// memory, where each thread reads what it has copied itself.
class SplitShare {
public:
    __device__ SplitShare(const float* row, unsigned vectors, unsigned first, unsigned threads,
                          float4* shared)
        : vectors_(vectors), first_(first), threads_(threads), shared_(shared + threadIdx.x) {
        const auto* const wide = reinterpret_cast<const float4*>(row);
#pragma unroll
        for (unsigned i = 0; i < half; ++i) {
            if (!has(half + i)) continue;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(
                             __cvta_generic_to_shared(shared_ + i * blockDim.x))),
                         "l"(wide + at(half + i))
                         : "memory");
        }
#pragma unroll
        for (unsigned i = 0; i < half; ++i)
            v_[i] = has(i) ? EvictFirst::load(wide + at(i))
                           : make_float4(lowest, lowest, lowest, lowest);
    }

    /// The warp's part. The registers then hold exp(x - largest of the warp).
    __device__ Part over_warp() {
        float largest = lowest;
#pragma unroll
        for (unsigned i = 0; i < half; ++i)
            largest = fmaxf(largest, largest_of(v_[i]));
        asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
        for (unsigned i = 0; i < half; ++i) {
            if (has(half + i)) largest = fmaxf(largest, largest_of(shared_[i * blockDim.x]));
        }
        largest_ = largest_over_warp(largest);
        float sum = 0;
#pragma unroll
        for (unsigned i = 0; i < half; ++i) {
            if (!has(i)) continue;
            v_[i] = exponentials(v_[i]);
            sum += v_[i].x + v_[i].y + v_[i].z + v_[i].w;
        }
#pragma unroll
        for (unsigned i = 0; i < half; ++i) {
            if (!has(half + i)) continue;
            const float4 v = exponentials(shared_[i * blockDim.x]);
            sum += v.x + v.y + v.z + v.w;
        }
        return {largest_, sum_over_warp(sum)};
    }

    /// Writes the results, given the whole row's part.
    __device__ void finish(float* row, const Part& of_row) const {
        const float scale = __expf(largest_ - of_row.largest) / of_row.sum;
#pragma unroll
        for (unsigned i = 0; i < 2 * half; ++i) {
            if (!has(i)) continue;
            const float4 v = i < half ? v_[i % half] : exponentials(shared_[i % half * blockDim.x]);
            EvictFirst::store(reinterpret_cast<float4*>(row) + at(i),
                              make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale));
        }
    }

private:
    static constexpr unsigned half = 4;  // Vectors.

    __device__ unsigned at(unsigned i) const {
        return first_ + i * threads_;
    }
    __device__ bool has(unsigned i) const {
        return at(i) < vectors_;
    }
    __device__ float4 exponentials(const float4& v) const {
        return make_float4(__expf(v.x - largest_), __expf(v.y - largest_), __expf(v.z - largest_),
                           __expf(v.w - largest_));
    }

    unsigned vectors_;
    unsigned first_;
    unsigned threads_;
    float4* shared_;
    float4 v_[half];
    float largest_ = lowest;
};

}  // namespace

extern "C" __global__ void __launch_bounds__(1024, 2)
    softmax_cluster(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                    unsigned columns) {
    extern __shared__ float4 halves[];
    __shared__ __align__(8) Part of_blocks[cluster_size];
    // A block may store into the others only once all of them run.
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    const unsigned rank = blockIdx.x % cluster_size;
    const unsigned long long start =
        static_cast<unsigned long long>(blockIdx.x / cluster_size) * columns;
    SplitShare share(from + start, columns / 4, rank * blockDim.x + threadIdx.x,
                     cluster_size * blockDim.x, halves);
    const Part of_block = over_block(share.over_warp());
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < cluster_size) store_at_rank(of_blocks + rank, threadIdx.x, of_block);
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    const unsigned lane = threadIdx.x % 32;
    share.finish(to + start, over_warp(lane < cluster_size ? of_blocks[lane] : Part()));
}
