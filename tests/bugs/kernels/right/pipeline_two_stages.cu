//@ right: cuda::pipeline for a block, two stages, each consumed before it is filled again.
//@ class: race
//@ buffer: data f32[1024] = i % 17
//@ buffer: out f32[128] = none
//@ launch: staged<<<1, 128>>>(data, out, 8)
//@ expect: out = float(sum(data[k * 128 + 127 - i] for k in range(8)))

#include <cooperative_groups.h>
#include <cuda/pipeline>

__global__ void staged(const float* in, float* out, int tiles) {
    auto block = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ float stage[2][128];
    auto pipe = cuda::make_pipeline(block, &state);
    float sum = 0;
    for (int fetch = 0, k = 0; k < tiles; ++k) {
        for (; fetch < tiles && fetch < k + 2; ++fetch) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stage[fetch % 2], in + fetch * 128,
                               sizeof(float) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += stage[k % 2][127 - threadIdx.x];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}
