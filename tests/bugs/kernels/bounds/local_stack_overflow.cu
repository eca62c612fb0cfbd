//@ bug: The explicit stack holds 8 nodes, and a depth-first walk of this tree pushes more.
//@ class: bounds
//@ buffer: child i32[62] = i + 1 if i < 61 else -1
//@ buffer: visited i32[32] = 0
//@ launch: walk<<<1, 32>>>(child, visited)

__global__ void walk(const int* child, int* visited) {
    int stack[8];
    int top = 0;
    stack[top++] = threadIdx.x % 4;
    int count = 0;
    while (top > 0 && count < 24) {
        int node = stack[--top];
        ++count;
        for (int k = 0; k < 2; ++k) {
            int next = child[2 * (node % 31) + k];
            if (next >= 0) stack[top++] = next;  // BUG
        }
    }
    visited[threadIdx.x] = count;
}
