#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

extern "C" __global__ void cub_reduce(const int* in, int* out) {
    using Reduce = cub::BlockReduce<int, 128>;
    __shared__ typename Reduce::TempStorage temp;
    int v[4];
    for (int k = 0; k < 4; ++k) v[k] = in[blockIdx.x * 512 + threadIdx.x * 4 + k];
    int sum = Reduce(temp).Sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
extern "C" __global__ void cub_scan(const int* in, int* out) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage temp;
    int v = in[blockIdx.x * 128 + threadIdx.x], sum;
    Scan(temp).ExclusiveSum(v, sum);
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}
extern "C" __global__ void cub_sort(unsigned* data) {
    using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
    __shared__ typename Sort::TempStorage temp;
    unsigned v[4];
    for (int k = 0; k < 4; ++k) v[k] = data[blockIdx.x * 512 + threadIdx.x * 4 + k];
    Sort(temp).Sort(v);
    for (int k = 0; k < 4; ++k) data[blockIdx.x * 512 + threadIdx.x * 4 + k] = v[k];
}
extern "C" __global__ void cub_warp(const float* in, float* out) {
    using Reduce = cub::WarpReduce<float>;
    __shared__ typename Reduce::TempStorage temp[4];
    int warp = threadIdx.x / 32;
    float v = Reduce(temp[warp]).Sum(in[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x % 32 == 0) out[blockIdx.x * 4 + warp] = v;
}
