//@ bug: The insertion loop tests the element before the bound, and reads slot -1.
//@ class: bounds
//@ buffer: data i32[256] = (i * 37) % 101
//@ launch: sort_eights<<<1, 32>>>(data)

// Each thread sorts eight numbers of its own.
__global__ void sort_eights(int* data) {
    int mine[8];
    for (int k = 0; k < 8; ++k) mine[k] = data[threadIdx.x * 8 + k];
#pragma unroll 1
    for (int k = 1; k < 8; ++k) {
        int key = mine[k], j = k - 1;
#pragma unroll 1
        while (mine[j] > key && j >= 0) {  // BUG
            mine[j + 1] = mine[j];
            --j;
        }
        mine[j + 1] = key;
    }
    for (int k = 0; k < 8; ++k) data[threadIdx.x * 8 + k] = mine[k];
}
