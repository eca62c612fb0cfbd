//@ right: The event precedes the producer's later work, which the waiting stream has no part in.
//@ class: streams
//@ buffer: rows f32[512] = i % 128
//@ buffer: out f32[256] = 0
//@ stream: produce
//@ stream: consume
//@ on: produce
//@ launch: halve<<<2, 128>>>(rows)
//@ record: half
//@ launch: halve<<<2, 128>>>(rows+1024)
//@ on: consume
//@ await: half
//@ launch: negate<<<4, 64>>>(rows, out)
//@ holds: all(isclose(-out[i], rows[i]) for i in range(256))
//@ holds: all(isclose(rows[i], 0.5 * (i % 128) + 1) for i in range(512))

__global__ void halve(float* rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    rows[i] = 0.5f * rows[i] + 1;
}

__global__ void negate(const float* rows, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = -rows[i];
}
