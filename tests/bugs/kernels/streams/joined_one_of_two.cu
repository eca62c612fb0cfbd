//@ bug: The sum waits for one of the two streams that make its operands.
//@ class: streams
//@ buffer: x f32[256] = i
//@ buffer: y f32[256] = 1
//@ buffer: sum f32[256] = 0
//@ stream: left
//@ stream: right
//@ stream: join
//@ on: left
//@ launch: scale<<<1, 256>>>(x, 2.0f, 256)
//@ record: left_done
//@ on: right
//@ launch: scale<<<1, 256>>>(y, 2.0f, 256)
//@ record: right_done
//@ on: join
//@ await: left_done
//@ launch: add<<<1, 256>>>(x, y, sum, 256)

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void add(const float* x, const float* y, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = x[i] + y[i];
}
