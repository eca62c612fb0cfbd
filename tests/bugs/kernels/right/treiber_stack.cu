//@ right: Nodes are pushed on a list by compare-and-swap; the next launch walks the list.
//@ class: race
//@ buffer: head i32[1] = -1
//@ buffer: next i32[96] = none
//@ buffer: out i32[2] = none
//@ launch: push<<<3, 32>>>(head, next)
//@ launch: walk<<<1, 1>>>(head, next, out)
//@ holds: out == [96, sum(range(96))]

__global__ void push(int* head, int* next) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    int seen = atomicAdd(head, 0);
    while (true) {
        next[node] = seen;
        __threadfence();
        int before = atomicCAS(head, seen, node);
        if (before == seen) break;
        seen = before;
    }
}

__global__ void walk(const int* head, const int* next, int* out) {
    int count = 0, sum = 0;
    for (int node = *head; node != -1; node = next[node]) {
        ++count;
        sum += node;
    }
    out[0] = count;
    out[1] = sum;
}
