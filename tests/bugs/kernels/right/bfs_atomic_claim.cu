//@ right: Children are claimed by compare-and-swap, so that each has exactly one parent.
//@ class: race
//@ buffer: level i32[33] = 0 if i < 16 else -1
//@ buffer: claims i32[33] = 0
//@ launch: expand<<<1, 16>>>(level, claims)
//@ expect: level = 0 if i < 16 else 1
//@ holds: claims == [0] * 16 + [1] * 17

__global__ void expand(int* level, int* claims) {
    for (int child = 16 + threadIdx.x; child <= 17 + threadIdx.x; ++child)
        if (atomicCAS(&level[child], -1, 1) == -1) claims[child] += 1;
}
