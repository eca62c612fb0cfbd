//@ bug: A fill resets the counter while a kernel of another stream still counts.
//@ class: streams
//@ buffer: data i32[512] = i % 7
//@ buffer: hits i32[1] = 0
//@ stream: count
//@ stream: reset
//@ on: count
//@ launch: count<<<2, 256>>>(data, hits, 512)
//@ on: reset
//@ fill: hits = 0, 4

__global__ void count(const int* data, int* hits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && data[i] == 3) atomicAdd(hits, 1);
}
