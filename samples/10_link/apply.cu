// A library's kernel that calls a function of its user, which is compiled separately.
extern "C" __device__ float user_function(float x);

extern "C" __global__ void apply(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = user_function(x[i]);
}
