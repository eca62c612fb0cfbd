//@ bug: The consumer expects 33 items from a producer that makes 32.
//@ class: hang
//@ buffer: out i32[1] = 0
//@ launch: queue<<<1, 64>>>(out)

__global__ void queue(int* out) {
    __shared__ volatile int produced;
    __shared__ int item[32];
    if (threadIdx.x == 0) produced = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 0; k < 32; ++k) {
            item[k] = k;
            __threadfence_block();
            produced = k + 1;
        }
    } else if (threadIdx.x == 32) {
        int sum = 0;
        for (int k = 0; k < 33; ++k) {
            while (produced <= k) {}  // BUG
            __threadfence_block();
            sum += item[k % 32];
        }
        *out = sum;
    }
}
