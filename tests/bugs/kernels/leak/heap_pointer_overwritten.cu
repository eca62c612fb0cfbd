//@ bug: A growing buffer is replaced by a larger one without freeing the smaller.
//@ class: leak
//@ buffer: out i32[8] = 0
//@ launch: grow<<<1, 8>>>(out)

__global__ void grow(int* out) {
    int capacity = 2, count = 0;
    int* data = (int*)malloc(capacity * sizeof(int));  // BUG
    for (int k = 0; k < 10; ++k) {
        if (count == capacity) {
            int* larger = (int*)malloc(2 * capacity * sizeof(int));  // BUG
            memcpy(larger, data, capacity * sizeof(int));
            data = larger;
            capacity *= 2;
        }
        data[count++] = k + threadIdx.x;
    }
    out[threadIdx.x] = data[9];
    free(data);
}
