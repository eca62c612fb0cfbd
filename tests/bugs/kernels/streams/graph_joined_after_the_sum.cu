//@ bug: In a captured graph the side branch is joined only after the kernel that sums its result.
//@ class: streams
//@ buffer: in i32[256] = i
//@ buffer: halves i32[256] = none
//@ buffer: sums i32[2] = 0
//@ stream: main
//@ stream: side
//@ on: main
//@ capture: begin
//@ record: fork
//@ launch: triple<<<1, 128>>>(in, halves)
//@ on: side
//@ await: fork
//@ launch: triple<<<1, 128>>>(in+512, halves+512)
//@ record: join
//@ on: main
//@ launch: sum<<<2, 128>>>(halves, sums)
//@ await: join
//@ launch: fold<<<1, 1>>>(sums)
//@ replay: launch

__global__ void triple(const int* in, int* half) {
    half[threadIdx.x] = 3 * in[threadIdx.x];  // BUG
}

__global__ void sum(const int* halves, int* sums) {
    int v = halves[blockIdx.x * blockDim.x + threadIdx.x];  // BUG
    atomicAdd(&sums[blockIdx.x], v);
}

__global__ void fold(int* sums) { sums[0] += sums[1]; }
