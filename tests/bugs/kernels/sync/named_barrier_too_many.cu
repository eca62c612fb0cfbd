//@ bug: Three warps meet at a named barrier that was told to expect two.
//@ class: sync
//@ buffer: data i32[96] = i
//@ launch: rotate<<<1, 96>>>(data)

__global__ void rotate(int* data) {
    __shared__ int s[96];
    int t = threadIdx.x;
    s[t] = data[t];
    asm volatile("bar.sync 3, 64;" ::: "memory");  // BUG
    data[t] = s[(t + 32) % 96];
}
