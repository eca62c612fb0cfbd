//@ bug: A worker's stream uses stream-ordered memory without waiting for the allocating stream.
//@ class: streams
//@ buffer: out f32[96] = 0
//@ stream: main
//@ stream: worker
//@ on: main
//@ allocate: scratch f32[96]
//@ on: worker
//@ launch: prepare<<<3, 32>>>(scratch)
//@ launch: finish<<<3, 32>>>(scratch, out)
//@ record: finished
//@ on: main
//@ await: finished
//@ free: scratch

__global__ void prepare(float* scratch) {
    scratch[blockIdx.x * 32 + threadIdx.x] = threadIdx.x + 0.5f;  // BUG
}

__global__ void finish(const float* scratch, float* out) {
    out[blockIdx.x * 32 + threadIdx.x] = scratch[95 - blockIdx.x * 32 - threadIdx.x];
}
