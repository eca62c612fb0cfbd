// Kernels as programs make them that are written for other processors as well: Halide's schedules
// of a matrix product, and molecular dynamics.
extern "C" {

/// c = a * b, n by n; a thread makes one element.
__global__ void product_elements(const float* a, const float* b, float* c, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k)
        sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

/// A thread makes 4 by 4 elements.
__global__ void product_tiles(const float* a, const float* b, float* c, int n) {
    const int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    const int y = (blockIdx.y * blockDim.y + threadIdx.y) * 4;
    float sum[4][4] = {};
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        for (int i = 0; i < 4; ++i) {
            for (int j = 0; j < 4; ++j)
                sum[i][j] += a[(y + i) * n + k] * b[k * n + x + j];
        }
    }
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j)
            c[(y + i) * n + x + j] = sum[i][j];
    }
}

/// The forces between particles of the Lennard-Jones kind, x, y, z and their charge: a warp takes
/// 32 particles, then 32 others in turns, which go round in its lanes.
__global__ void forces(const float4* particle, float4* force, int n, float limit) {
    const int lane = threadIdx.x % 32;
    const int own = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 me = particle[own];
    float3 sum = {0, 0, 0};
    for (int first = 0; first < n; first += 32) {
        float4 other = particle[first + lane];
        int at = first + lane;
#pragma unroll 1
        for (int k = 0; k < 32; ++k) {
            const float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
            const float square = x * x + y * y + z * z;
            const bool near = square < limit && at != own;
            const float inverse = rsqrtf(square);
            const float inverse2 = inverse * inverse;
            const float sixth = inverse2 * inverse2 * inverse2;
            const float pull =
                near ? (sixth * (12 * sixth - 6) + me.w * other.w * inverse) * inverse2 : 0;
            sum.x -= x * pull;
            sum.y -= y * pull;
            sum.z -= z * pull;
            const int next = (lane + 1) % 32;
            other.x = __shfl_sync(0xffffffff, other.x, next);
            other.y = __shfl_sync(0xffffffff, other.y, next);
            other.z = __shfl_sync(0xffffffff, other.z, next);
            other.w = __shfl_sync(0xffffffff, other.w, next);
            at = __shfl_sync(0xffffffff, at, next);
        }
    }
    force[own] = {sum.x, sum.y, sum.z, 0};
}
}
