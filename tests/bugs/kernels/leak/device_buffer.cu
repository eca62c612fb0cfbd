//@ bug: The host never frees the scratch buffer.
//@ class: leak
//@ buffer: data f32[256] = i
//@ buffer: scratch f32[4096] = 0
//@ launch: copy<<<1, 256>>>(data, scratch)
//@ leak: scratch

__global__ void copy(const float* data, float* scratch) {
    scratch[threadIdx.x] = data[threadIdx.x];
}
