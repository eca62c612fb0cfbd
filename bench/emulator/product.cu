// The product of two n by n matrices of bfloats, n a multiple of 64: blocks of 128 threads make 64
// by 64 elements, each warp 32 by 32.
using Four = uint4;

__device__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

extern "C" __global__ void product(const unsigned short* a, const unsigned short* b, float* c,
                                   int n) {
    constexpr int deep = 32;
    __shared__ __align__(16) unsigned short left[64][deep + 8];
    __shared__ __align__(16) unsigned short right[deep][64 + 8];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
    float sum[2][4][4] = {};
    for (int k = 0; k < n; k += deep) {
        for (int i = thread; i < 256; i += 128) {
            const int r = i / 4, e = i % 4 * 8;
            *reinterpret_cast<Four*>(&left[r][e]) =
                *reinterpret_cast<const Four*>(&a[(row + r) * n + k + e]);
            const int s = i / 8, f = i % 8 * 8;
            *reinterpret_cast<Four*>(&right[s][f]) =
                *reinterpret_cast<const Four*>(&b[(k + s) * n + column + f]);
        }
        __syncthreads();
#pragma unroll
        for (int step = 0; step < deep; step += 16) {
            unsigned x[2][4], y[2][4];
#pragma unroll
            for (int m = 0; m < 2; ++m) {
                const unsigned at = shared_address(
                    &left[warp_row + m * 16 + lane % 16][step + lane / 16 * 8]);
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(x[m][0]), "=r"(x[m][1]), "=r"(x[m][2]), "=r"(x[m][3])
                             : "r"(at));
            }
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const unsigned at = shared_address(
                    &right[step + lane % 16][warp_column + h * 16 + lane / 16 * 8]);
                asm volatile(
                    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                    : "=r"(y[h][0]), "=r"(y[h][1]), "=r"(y[h][2]), "=r"(y[h][3])
                    : "r"(at));
            }
#pragma unroll
            for (int m = 0; m < 2; ++m) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    float* const d = sum[m][j];
                    const unsigned* const right_part = &y[j / 2][j % 2 * 2];
                    asm volatile(
                        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                        : "r"(x[m][0]), "r"(x[m][1]), "r"(x[m][2]), "r"(x[m][3]),
                          "r"(right_part[0]), "r"(right_part[1]));
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float* const to = c + (row + warp_row + m * 16 + lane / 4) * n + column + warp_column +
                              j * 8 + lane % 4 * 2;
            to[0] = sum[m][j][0];
            to[1] = sum[m][j][1];
            to[8 * n] = sum[m][j][2];
            to[8 * n + 1] = sum[m][j][3];
        }
    }
}
