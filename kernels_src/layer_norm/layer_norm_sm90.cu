// A row for each cluster of 2, 4 or 8 blocks, each of which has a part of it in registers: up to 32
// columns for each thread, a multiple of 4; addresses are multiples of 16. The blocks exchange the
// moments of their parts through distributed shared memory (9.0).
#include "layer_norm.cuh"

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

/// Gives every block of the cluster the moments of all. The blocks wait for what they need and not
/// for each other: a barrier of the cluster with release and acquire is slower.
class Exchange {
public:
    /// Before the blocks' other work, which hides that they wait until all of them run. `moments`
    /// has an element for each block.
    __device__ Exchange(unsigned long long* arrived, float4* moments, unsigned blocks)
        : arrived_(arrived), moments_(moments), blocks_(blocks) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrived))
                         : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                             shared_address(arrived)),
                         "r"(blocks * static_cast<unsigned>(sizeof(float4)))
                         : "memory");
        }
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    }

    /// The whole row's moments, in every thread.
    __device__ Moments combine(unsigned rank, const Moments& of_block) {
        asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
        if (threadIdx.x < blocks_)
            asm volatile(
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, "
                "%3}, [%4];" ::"r"(address_at_rank(moments_ + rank, threadIdx.x)),
                "f"(of_block.count), "f"(of_block.mean), "f"(of_block.squares),
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
        const float4 part = lane < blocks_ ? moments_[lane] : make_float4(0, 0, 0, 0);
        return over_warp({part.x, part.y, part.z});
    }

private:
    unsigned long long* arrived_;
    float4* moments_;
    unsigned blocks_;
};

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_cluster(const float* __restrict__ from, float* __restrict__ to,
                       const float* __restrict__ scales, const float* __restrict__ shifts,
                       float epsilon, unsigned rows, unsigned columns) {
    __shared__ __align__(8) unsigned long long arrived;
    __shared__ float4 moments[most_blocks];
    unsigned blocks = 0;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    Exchange exchange(&arrived, moments, blocks);
    const unsigned rank = blockIdx.x % blocks;
    const unsigned most = most_vectors * blockDim.x;
    const unsigned first = rank * most;
    const unsigned vectors = first < columns / 4 ? min(columns / 4 - first, most) : 0;
    // A block without a part stays in the row.
    const unsigned long long column = vectors > 0 ? 4ULL * first : 0;
    const unsigned long long start =
        static_cast<unsigned long long>(blockIdx.x / blocks) * columns + column;
    const Share<most_vectors, EvictFirst<false>> share(from + start, vectors, threadIdx.x,
                                                       blockDim.x);
    share.finish(to + start, exchange.combine(rank, over_block(share.over_warp())), epsilon,
                 scales + column, shifts + column);
}
