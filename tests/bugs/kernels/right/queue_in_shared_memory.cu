//@ right: A producer warp and a consumer warp pass items through a ring with block fences.
//@ class: hang
//@ buffer: out i32[1] = none
//@ launch: queue<<<1, 64>>>(out, 40)
//@ expect: out = sum(k * k for k in range(40))

__global__ void queue(int* out, int items) {
    __shared__ volatile int produced, consumed;
    __shared__ volatile int item[8];
    if (threadIdx.x == 0) produced = consumed = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 0; k < items; ++k) {
            while (k - consumed >= 8) {}
            __threadfence_block();
            item[k % 8] = k * k;
            __threadfence_block();
            produced = k + 1;
        }
    } else if (threadIdx.x == 32) {
        int sum = 0;
        for (int k = 0; k < items; ++k) {
            while (produced <= k) {}
            __threadfence_block();
            sum += item[k % 8];
            __threadfence_block();
            consumed = k + 1;
        }
        *out = sum;
    }
}
