//@ bug: One stream's kernel counts with atomics while another stream's kernel reads plainly.
//@ class: streams
//@ buffer: data i32[1024] = i * i
//@ buffer: counts u64[4] = 0
//@ buffer: pinned progress u64[1] = 0
//@ stream: work
//@ stream: monitor
//@ on: work
//@ launch: classify<<<8, 128>>>(data, counts)
//@ on: monitor
//@ launch: snapshot<<<1, 1>>>(counts, progress)

__global__ void classify(const int* data, unsigned long long* counts) {
    int v = data[blockIdx.x * blockDim.x + threadIdx.x];
    atomicAdd(&counts[v & 3], 1ull);  // BUG
}

__global__ void snapshot(const unsigned long long* counts, unsigned long long* progress) {
    *progress = counts[0] + counts[1] + counts[2] + counts[3];  // BUG
}
