//@ bug: An open hash table in shared memory isn't cleared before keys are claimed in it.
//@ class: init
//@ buffer: keys i32[32] = i * 5 % 64
//@ buffer: out i32[32] = 0
//@ launch: insert<<<1, 32>>>(keys, out)

__global__ void insert(const int* keys, int* out) {
    __shared__ int table[64];
    int key = keys[threadIdx.x];
    out[threadIdx.x] = atomicCAS(&table[key], -1, key);  // BUG
}
