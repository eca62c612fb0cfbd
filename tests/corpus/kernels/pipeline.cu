#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

extern "C" __global__ void staged_copy(const int* in, int* out, int stages) {
    __shared__ int buffer[2][128];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&buffer[0][t], &in[t], sizeof(int), pipe);
    pipe.producer_commit();
    int sum = 0;
    for (int s = 0; s < stages; ++s) {
        if (s + 1 < stages) {
            pipe.producer_acquire();
            cuda::memcpy_async(&buffer[(s + 1) % 2][t], &in[(s + 1) * 128 + t], sizeof(int), pipe);
            pipe.producer_commit();
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else {
            cuda::pipeline_consumer_wait_prior<0>(pipe);
        }
        __syncthreads();
        sum += buffer[s % 2][127 - t];
        __syncthreads();
        pipe.consumer_release();
    }
    out[t] = sum;
}
