//@ bug: Two branches of a captured graph write the same buffer.
//@ class: streams
//@ buffer: x f32[256] = i
//@ stream: main
//@ stream: branch
//@ on: main
//@ capture: begin
//@ record: fork
//@ launch: scale<<<1, 256>>>(x, 2.0f, 256)
//@ on: branch
//@ await: fork
//@ launch: scale<<<1, 256>>>(x, 3.0f, 256)
//@ record: join
//@ on: main
//@ await: join
//@ replay: launch

__global__ void scale(float* x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
