//@ bug: Page-locked memory is freed by the host before the kernel that fills it runs.
//@ class: bounds
//@ buffer: data i32[128] = i
//@ buffer: pinned result i32[128] = 0
//@ launch: publish<<<1, 128>>>(data, result)
//@ free: result
//@ launch: publish<<<1, 128>>>(data, result)

__global__ void publish(const int* data, int* result) {
    result[threadIdx.x] = data[threadIdx.x] + 1;  // BUG
}
