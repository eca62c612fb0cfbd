//@ right: A lock of compare-and-swap and exchange, with a fence on either side of the section.
//@ class: race
//@ buffer: lock i32[1] = 0
//@ buffer: sum f64[1] = 0
//@ launch: accumulate<<<8, 64>>>(lock, sum)
//@ holds: sum[0] == 8 * 2016

__global__ void accumulate(int* lock, double* sum) {
    __shared__ double s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    for (int h = 32; h > 0; h /= 2) {
        if (t < h) s[t] += s[t + h];
        __syncthreads();
    }
    if (t == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *sum += s[0];
        __threadfence();
        atomicExch(lock, 0);
    }
}
