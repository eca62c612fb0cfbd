//@ bug: The phases of an odd-even sort follow each other without a barrier.
//@ class: race
//@ buffer: data i32[128] = (i * 73) % 128
//@ launch: sort<<<1, 64>>>(data)

__global__ void sort(int* data) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = data[t];
    s[t + 64] = data[t + 64];
    __syncthreads();
    for (int phase = 0; phase < 128; ++phase) {
        int k = 2 * t + (phase & 1);
        if (k + 1 < 128 && s[k] > s[k + 1]) {  // BUG
            int swap = s[k];
            s[k] = s[k + 1];  // BUG
            s[k + 1] = swap;  // BUG
        }
    }
    __syncthreads();
    data[t] = s[t];
    data[t + 64] = s[t + 64];
}
