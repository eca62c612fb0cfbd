// A row for each cluster of 2, 4 or 8 blocks, which exchange their parts through distributed shared
// memory (9.0): up to 32 columns for each thread, a multiple of 4; addresses are multiples of 16.
// A multiprocessor holds two blocks or more, of which one loads while another writes.
#include "softmax.cuh"

namespace {

constexpr unsigned most_blocks = 8;
constexpr unsigned most_vectors = 8;  // For each thread.

__device__ unsigned shared_address(const void* variable) {
    return static_cast<unsigned>(__cvta_generic_to_shared(variable));
}

/// The same variable's address in another block of the cluster.
__device__ unsigned address_at_rank(const void* variable, unsigned rank) {
    unsigned there = 0;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(there)
                 : "r"(shared_address(variable)), "r"(rank));
    return there;
}

/// Gives every block of the cluster the parts of all. The blocks wait for what they need and not
/// for each other: a barrier of the cluster with release and acquire is slower.
class Exchange {
public:
    /// Before the blocks' other work, which hides that they wait until all of them run.
    __device__ Exchange(unsigned long long* arrived, Part* parts, unsigned blocks)
        : arrived_(arrived), parts_(parts), blocks_(blocks) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrived))
                         : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                             shared_address(arrived)),
                         "r"(blocks * static_cast<unsigned>(sizeof(Part)))
                         : "memory");
        }
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }

    /// The whole row's part, in every thread.
    __device__ Part combine(unsigned rank, const Part& of_block) {
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        if (threadIdx.x < blocks_)
            asm volatile(
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, "
                "[%3];" ::"r"(address_at_rank(parts_ + rank, threadIdx.x)),
                "f"(of_block.largest), "f"(of_block.sum),
                "r"(address_at_rank(arrived_, threadIdx.x))
                : "memory");
        unsigned done = 0;
        while (done == 0)
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], "
                "0; selp.u32 %0, 1, 0, p;}"
                : "=r"(done)
                : "r"(shared_address(arrived_))
                : "memory");
        const unsigned lane = threadIdx.x % 32;
        return over_warp(lane < blocks_ ? parts_[lane] : Part());
    }

private:
    unsigned long long* arrived_;
    Part* parts_;
    unsigned blocks_;
};

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
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             shared_address(shared_ + i * blockDim.x)),
                         "l"(wide + at(half + i))
                         : "memory");
        }
#pragma unroll
        for (unsigned i = 0; i < half; ++i) {
            v_[i] = make_float4(lowest, lowest, lowest, lowest);
            EvictFirst::load(v_[i], wide + at(i), has(i));
        }
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
                              make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale),
                              true);
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

__device__ unsigned blocks_of_cluster() {
    unsigned blocks = 0;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

}  // namespace

// In registers.
extern "C" __global__ void __launch_bounds__(512, 2)
    softmax_cluster(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                    unsigned columns) {
    __shared__ __align__(8) unsigned long long arrived;
    __shared__ __align__(8) Part parts[most_blocks];
    const unsigned blocks = blocks_of_cluster();
    Exchange exchange(&arrived, parts, blocks);
    const unsigned rank = blockIdx.x % blocks;
    const unsigned most = most_vectors * blockDim.x;
    const unsigned first = rank * most;
    const unsigned long long start =
        static_cast<unsigned long long>(blockIdx.x / blocks) * columns + 4ULL * first;
    const unsigned vectors = first < columns / 4 ? min(columns / 4 - first, most) : 0;
    Share<most_vectors, EvictFirst> share(from + start, vectors, threadIdx.x, blockDim.x);
    share.finish(to + start, exchange.combine(rank, over_block(share.over_warp())));
}

// 262,144 columns and eight blocks of 1,024 threads, without any check.
extern "C" __global__ void __launch_bounds__(1024)
    softmax_cluster_full(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                         unsigned columns) {
    constexpr unsigned threads = 1024;
    constexpr unsigned vectors = most_vectors * threads;
    __shared__ __align__(8) unsigned long long arrived;
    __shared__ __align__(8) Part parts[most_blocks];
    Exchange exchange(&arrived, parts, most_blocks);
    const unsigned long long start = 4ULL * vectors * blockIdx.x;
    Share<most_vectors, EvictFirst, threads, true> share(from + start, vectors, threadIdx.x,
                                                         threads);
    const Part of_block = over_block(share.over_warp());
    share.finish(to + start, exchange.combine(blockIdx.x % most_blocks, of_block));
}

// Half of the columns in shared memory, so that blocks of 1,024 threads fit twice. Dynamic shared
// memory: 64 bytes for each thread.
extern "C" __global__ void __launch_bounds__(1024, 2)
    softmax_cluster_split(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                          unsigned columns) {
    extern __shared__ float4 halves[];
    __shared__ __align__(8) unsigned long long arrived;
    __shared__ __align__(8) Part parts[most_blocks];
    const unsigned blocks = blocks_of_cluster();
    Exchange exchange(&arrived, parts, blocks);
    const unsigned rank = blockIdx.x % blocks;
    const unsigned long long start = static_cast<unsigned long long>(blockIdx.x / blocks) * columns;
    SplitShare share(from + start, columns / 4, rank * blockDim.x + threadIdx.x,
                     blocks * blockDim.x, halves);
    share.finish(to + start, exchange.combine(rank, over_block(share.over_warp())));
}
