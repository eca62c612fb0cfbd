//@ bug: A graph updates the weights in one stream while a kernel in another stream uses them.
//@ class: streams
//@ buffer: weights f32[64] = i
//@ buffer: gradients f32[64] = 1
//@ buffer: x f32[64] = 2
//@ buffer: y f32[1] = 0
//@ stream: train
//@ stream: infer
//@ on: train
//@ capture: begin
//@ launch: clip<<<1, 64>>>(gradients)
//@ launch: update<<<1, 64>>>(weights, gradients)
//@ replay: launch
//@ on: infer
//@ launch: product<<<1, 64>>>(weights, x, y)

__global__ void clip(float* gradients) {
    gradients[threadIdx.x] = fminf(gradients[threadIdx.x], 0.5f);
}

__global__ void update(float* weights, const float* gradients) {
    weights[threadIdx.x] -= 0.1f * gradients[threadIdx.x];  // BUG
}

__global__ void product(const float* weights, const float* x, float* y) {
    atomicAdd(y, weights[threadIdx.x] * x[threadIdx.x]);  // BUG
}
