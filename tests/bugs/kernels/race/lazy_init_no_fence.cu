//@ bug: The first block builds a table in global memory; others see the flag, not the table.
//@ class: race
//@ buffer: state i32[1] = 0
//@ buffer: table i32[16] = 0
//@ buffer: out i32[64] = 0
//@ launch: use_table<<<4, 16>>>(state, table, out)

// state: 0 untouched, 1 being built, 2 built.
__global__ void use_table(int* state, int* table, int* out) {
    if (threadIdx.x == 0) {
        if (atomicCAS(state, 0, 1) == 0) {
            for (int k = 0; k < 16; ++k) table[k] = k * k;  // BUG
            atomicExch(state, 2);
        }
        while (atomicAdd(state, 0) != 2) {}
    }
    __syncthreads();
    out[blockIdx.x * 16 + threadIdx.x] = table[15 - threadIdx.x];  // BUG
}
