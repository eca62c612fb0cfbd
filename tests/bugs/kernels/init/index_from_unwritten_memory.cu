//@ bug: The permutation's buffer was meant to be filled by another kernel that is never launched.
//@ class: init
//@ buffer: permutation i32[64] = none
//@ buffer: in f32[64] = i
//@ buffer: out f32[64] = 0
//@ launch: gather<<<1, 64>>>(permutation, in, out)

__global__ void identity(int* permutation) { permutation[threadIdx.x] = threadIdx.x; }

__global__ void gather(const int* permutation, const float* in, float* out) {
    out[threadIdx.x] = in[permutation[threadIdx.x] & 63];  // BUG
}
