//@ bug: The copy waits for an event that its own stream has recorded, not the kernel's.
//@ class: streams
//@ buffer: data f32[256] = i
//@ buffer: saved f32[256] = 0
//@ stream: work
//@ stream: save
//@ on: work
//@ launch: scale<<<1, 256>>>(data, 2.0f, 256)
//@ on: save
//@ record: done
//@ await: done
//@ copy: saved = data, 1024

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
