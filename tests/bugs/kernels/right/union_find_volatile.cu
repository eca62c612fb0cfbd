//@ right: Trees of components are hooked by compare-and-swap; roots are searched by volatile reads.
//@ class: race
//@ buffer: parent i32[64] = i
//@ launch: components<<<2, 32>>>(parent, 64)
//@ launch: flatten<<<2, 32>>>(parent)
//@ holds: all(parent[k] == k % 4 for k in range(64))

__device__ int root_of(volatile int* parent, int v) {
    while (parent[v] != v) v = parent[v];
    return v;
}

// Edges join k and k + 4.
__global__ void components(int* parent, int n) {
    int a = blockIdx.x * blockDim.x + threadIdx.x, b = a + 4;
    if (b >= n) return;
    while (true) {
        int ra = root_of(parent, a), rb = root_of(parent, b);
        if (ra == rb) return;
        int low = min(ra, rb), high = max(ra, rb);
        if (atomicCAS(&parent[high], high, low) == high) return;
    }
}

__global__ void flatten(int* parent) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int root = root_of(parent, i);
    atomicExch(&parent[i], root);
}
