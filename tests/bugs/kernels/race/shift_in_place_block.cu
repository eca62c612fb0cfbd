//@ bug: A block shifts an array in global memory in place, each thread without waiting for others.
//@ class: race
//@ buffer: v i32[129] = i
//@ launch: shift_left<<<1, 128>>>(v)

__global__ void shift_left(int* v) {
    v[threadIdx.x] = v[threadIdx.x + 1];  // BUG
}
