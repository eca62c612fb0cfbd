//@ bug: The checker reads the pinned staging buffer after the kernel's event, not the download's.
//@ class: streams
//@ buffer: data i32[256] = i
//@ buffer: pinned stage i32[256] = 0
//@ buffer: pinned bad i32[1] = 0
//@ stream: compute
//@ stream: download
//@ stream: check
//@ on: compute
//@ launch: negate<<<2, 128>>>(data)
//@ record: negated
//@ on: download
//@ await: negated
//@ copy: stage = data, 1024
//@ record: downloaded
//@ on: check
//@ await: negated
//@ launch: any_positive<<<1, 64>>>(stage, bad)

__global__ void negate(int* data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = -1 - data[i];
}

__global__ void any_positive(const int* stage, int* bad) {
    bool any = false;
    for (int i = threadIdx.x; i < 256; i += 64) any |= stage[i] >= 0;  // BUG
    if (__syncthreads_or(any) && threadIdx.x == 0) *bad = 1;
}
