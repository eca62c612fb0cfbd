//@ right: A block shifts in place: all values are in registers before the first one is stored.
//@ class: race
//@ buffer: v i32[129] = i
//@ launch: shift_left<<<1, 128>>>(v)
//@ expect: v = v[i + 1] if i < 128 else v[128]

__global__ void shift_left(int* v) {
    int next = v[threadIdx.x + 1];
    __syncthreads();
    v[threadIdx.x] = next;
}
