//@ bug: Producer and consumer each wait for the other's first message.
//@ class: hang
//@ buffer: out i32[1] = 0
//@ launch: greet<<<1, 64>>>(out)

__global__ void greet(int* out) {
    __shared__ volatile int request, answer;
    if (threadIdx.x == 0) request = answer = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (request == 0) {}  // BUG
        answer = 1;
    } else if (threadIdx.x == 32) {
        while (answer == 0) {}  // BUG
        request = 1;
        *out = 1;
    }
}
