//@ bug: Both branches of a captured graph use the same scratch buffer.
//@ class: streams
//@ buffer: in f32[128] = i - 64
//@ buffer: scratch f32[128] = 0
//@ buffer: norms f32[2] = 0
//@ stream: main
//@ stream: side
//@ on: main
//@ capture: begin
//@ launch: shrink<<<1, 128>>>(in)
//@ record: fork
//@ on: side
//@ await: fork
//@ launch: one_norm<<<1, 128>>>(in, scratch, norms)
//@ record: join
//@ on: main
//@ launch: two_norm<<<1, 128>>>(in, scratch, norms+4)
//@ await: join
//@ launch: divide<<<1, 1>>>(norms)
//@ replay: launch

__global__ void shrink(float* in) { in[threadIdx.x] *= 0.25f; }

__device__ void add_up(float* scratch, float* sum) {
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (threadIdx.x < d) scratch[threadIdx.x] += scratch[threadIdx.x + d];  // BUG
    }
    if (threadIdx.x == 0) *sum = scratch[0];  // BUG
}

__global__ void one_norm(const float* in, float* scratch, float* sum) {
    scratch[threadIdx.x] = fabsf(in[threadIdx.x]);  // BUG
    add_up(scratch, sum);
}

__global__ void two_norm(const float* in, float* scratch, float* sum) {
    scratch[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x];  // BUG
    add_up(scratch, sum);
}

__global__ void divide(float* norms) { norms[0] /= norms[1]; }
