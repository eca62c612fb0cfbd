// y[i] = a * x[i] + y[i] for i in [0, n).
//
// Any grid works: the threads take the elements in turn, with the number of threads as the stride.
// One thread per element is the usual choice.
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y,
                                 int n) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
         i += stride) {
        y[i] = a * x[i] + y[i];
    }
}
