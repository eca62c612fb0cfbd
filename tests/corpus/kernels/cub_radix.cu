// The CUB of CUDA 12.8 uses std::is_same without its header.
#include <type_traits>

#include <cub/agent/agent_radix_sort_onesweep.cuh>
#include <cub/block/block_radix_rank.cuh>

// One pass per digit, ranked as the agents of cub::DeviceRadixSort rank.
template <class Rank>
__device__ void sort_block(unsigned* data) {
    __shared__ typename Rank::TempStorage temp;
    __shared__ unsigned keys[512];
    const int first = threadIdx.x / 32 * 128 + threadIdx.x % 32;
    unsigned v[4];
    int ranks[4];
    for (int k = 0; k < 4; ++k) v[k] = data[blockIdx.x * 512 + first + k * 32];
    for (int bit = 0; bit < 32; bit += 8) {
        cub::BFEDigitExtractor<unsigned> digit(bit, 8);
        Rank(temp).RankKeys(v, ranks, digit);
        __syncthreads();
        for (int k = 0; k < 4; ++k) keys[ranks[k]] = v[k];
        __syncthreads();
        for (int k = 0; k < 4; ++k) v[k] = keys[first + k * 32];
        __syncthreads();
    }
    for (int k = 0; k < 4; ++k) data[blockIdx.x * 512 + first + k * 32] = v[k];
}
extern "C" __global__ void cub_radix_match(unsigned* data) {
    sort_block<cub::BlockRadixRankMatch<128, 8, false>>(data);
}
