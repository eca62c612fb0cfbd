//@ right: One block builds a table in global memory; the others wait for its state with fences.
//@ class: race
//@ buffer: state i32[1] = 0
//@ buffer: table i32[16] = none
//@ buffer: out i32[64] = none
//@ launch: use_table<<<4, 16>>>(state, table, out)
//@ expect: out = (15 - i % 16) ** 2

// state: 0 untouched, 1 being built, 2 built.
__global__ void use_table(int* state, int* table, int* out) {
    if (threadIdx.x == 0) {
        if (atomicCAS(state, 0, 1) == 0) {
            for (int k = 0; k < 16; ++k) table[k] = k * k;
            __threadfence();
            atomicExch(state, 2);
        } else {
            while (atomicAdd(state, 0) != 2) {}
            __threadfence();
        }
    }
    __syncthreads();
    out[blockIdx.x * 16 + threadIdx.x] = table[15 - threadIdx.x];
}
