//@ bug: Early blocks wait for the last block of a grid that doesn't fit on the device.
//@ class: hang
//@ buffer: flag i32[1] = 0
//@ buffer: out i32[1] = 0
//@ launch: backwards<<<100000, 128>>>(flag, out)

__global__ void backwards(int* flag, int* out) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == gridDim.x - 1) atomicExch(flag, 1);
        while (atomicAdd(flag, 0) == 0) {}  // BUG
        atomicAdd(out, 1);
    }
}
