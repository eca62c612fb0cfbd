//@ bug: Two streams scatter to even and odd cells, but one odd index names an even cell.
//@ class: streams
//@ buffer: even i32[100] = 2 * i
//@ buffer: odd i32[100] = 2 * i + 1 - (i == 41)
//@ buffer: cells f32[200] = 0
//@ stream: one
//@ stream: two
//@ on: one
//@ launch: deposit<<<4, 25>>>(even, cells, 1.0f)
//@ on: two
//@ launch: deposit<<<4, 25>>>(odd, cells, -1.0f)

__global__ void deposit(const int* where, float* cells, float charge) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cells[where[i]] = charge * i;  // BUG
}
