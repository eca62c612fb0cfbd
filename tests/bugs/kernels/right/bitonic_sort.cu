//@ right: A bitonic sort in shared memory: only one thread of each pair exchanges.
//@ class: race
//@ buffer: data i32[256] = (i * 167) % 256
//@ launch: sort<<<1, 256>>>(data)
//@ expect: data = i

__global__ void sort(int* data) {
    __shared__ int s[256];
    const int t = threadIdx.x;
    s[t] = data[t];
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            int other = t ^ stride;
            if (other > t) {
                bool ascending = (t & size) == 0;
                int a = s[t], b = s[other];
                if ((a > b) == ascending) {
                    s[t] = b;
                    s[other] = a;
                }
            }
        }
    __syncthreads();
    data[t] = s[t];
}
