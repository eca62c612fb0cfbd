//@ bug: What an exchange takes out of a shared word is added, but nobody has put anything in.
//@ class: init
//@ buffer: out i32[32] = 0
//@ launch: chain<<<1, 32>>>(out)

__global__ void chain(int* out) {
    __shared__ int last;
    out[threadIdx.x] = 10 + atomicExch(&last, threadIdx.x);  // BUG
}
