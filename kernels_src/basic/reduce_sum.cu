// Sums per block: partial[b] is the sum of the elements of block b, for b in [0, gridDim.x).
//
// Launched with a multiple of 32 threads per block, at most 1024. A second launch with one block
// over `partial` gives the total. The order of additions is fixed for a fixed grid, so the result
// is the same in every run.
template <class T>
__device__ T warp_sum(T value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;  // Lane 0 has the warp's sum.
}

template <class T>
__device__ void block_sum(const T* __restrict__ values, T* __restrict__ partial, long long n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    T sum = T(0);
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        sum += values[i];
    }

    __shared__ T of_warp[32];
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    sum = warp_sum(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        const unsigned warps = blockDim.x / 32;
        sum = warp_sum(lane < warps ? of_warp[lane] : T(0));
        if (lane == 0) partial[blockIdx.x] = sum;
    }
}

extern "C" __global__ void reduce_sum_f32(const float* values, float* partial, long long n) {
    block_sum(values, partial, n);
}

extern "C" __global__ void reduce_sum_i32(const int* values, int* partial, long long n) {
    block_sum(values, partial, n);
}
