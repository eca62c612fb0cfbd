//@ right: Many threads store the same value to one flag in global memory.
//@ class: race
//@ buffer: data i32[256] = i
//@ buffer: found i32[1] = 0
//@ launch: contains<<<2, 128>>>(data, found)
//@ expect: found = 1

__global__ void contains(const int* in, int* found) {
    if (in[blockIdx.x * blockDim.x + threadIdx.x] % 7 == 3) *found = 1;
}
