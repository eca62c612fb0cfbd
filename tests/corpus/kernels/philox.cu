#include <curand_kernel.h>
extern "C" __global__ void philox(unsigned* out, float* uniform, unsigned long long seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, 0, &state);
    uint4 r = curand4(&state);
    out[4 * i] = r.x;
    out[4 * i + 1] = r.y;
    out[4 * i + 2] = r.z;
    out[4 * i + 3] = r.w;
    uniform[i] = curand_uniform(&state);
}
