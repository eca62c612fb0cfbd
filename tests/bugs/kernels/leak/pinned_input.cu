//@ bug: The page-locked staging buffer of the input is never freed, the device's buffers are.
//@ class: leak
//@ buffer: pinned staging f32[1000] = i
//@ buffer: out f32[1000] = 0
//@ launch: scale<<<4, 256>>>(staging, out, 1000)
//@ leak: staging

__global__ void scale(const float* staging, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * staging[i];
}
