//@ bug: Two parents visit one child at once: test and mark of the level aren't one atomic step.
//@ class: race
//@ buffer: level i32[33] = 0 if i < 16 else -1
//@ buffer: parent i32[33] = -1
//@ launch: expand<<<1, 16>>>(level, parent)

// Node k of the frontier has the children 16 + k and 17 + k.
__global__ void expand(int* level, int* parent) {
    int node = threadIdx.x;
    for (int child = 16 + node; child <= 17 + node; ++child) {
        if (level[child] == -1) {  // BUG
            level[child] = level[node] + 1;  // BUG
            parent[child] = node;  // BUG
        }
    }
}
