//@ bug: The default stream copies the result out, but it doesn't wait for a non-blocking stream.
//@ class: streams
//@ buffer: in f32[500] = i
//@ buffer: out f32[500] = 0
//@ buffer: pinned host f32[500] = 0
//@ stream: work
//@ on: work
//@ launch: scale<<<1, 128>>>(in, out, 500)
//@ on: default
//@ copy: host = out, 2000

__global__ void scale(const float* in, float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 0.5f * in[i];  // BUG
}
