//@ bug: Only the input's page-locked buffer is freed, not the output's.
//@ class: leak
//@ buffer: pinned in i32[256] = i
//@ buffer: pinned out i32[256] = 0
//@ launch: twice<<<1, 256>>>(in, out)
//@ free: in
//@ leak: out

__global__ void twice(const int* in, int* out) {
    out[threadIdx.x] = 2 * in[threadIdx.x];
}
