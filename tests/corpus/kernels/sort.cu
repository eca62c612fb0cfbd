extern "C" __global__ void bitonic(int* data) {
    __shared__ int a[512];
    int t = threadIdx.x;
    a[t] = data[blockIdx.x * 512 + t];
    a[t + 256] = data[blockIdx.x * 512 + t + 256];
    for (int size = 2; size <= 512; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int low = 2 * t - (t & (step - 1));
            bool up = (low & size) == 0;
            int x = a[low], y = a[low + step];
            if ((x > y) == up) {
                a[low] = y;
                a[low + step] = x;
            }
        }
    }
    __syncthreads();
    data[blockIdx.x * 512 + t] = a[t];
    data[blockIdx.x * 512 + t + 256] = a[t + 256];
}
