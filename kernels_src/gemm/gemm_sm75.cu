// The matrix product on tensor cores by wmma (16 x 16 x 16, from 7.0): 128 x 128 tiles, eight warps
// of 64 x 32; the next step's halves are fetched into registers during the current step.
//
// k is a multiple of 8, and a and b are 16-byte aligned: rows are read 8 halves at a time.
#include "gemm.cuh"

#ifdef LODE_GEMM_BF16
#error "wmma has no bfloat16 before 8.0, where mma.sync is the better row."
#endif

namespace {

constexpr unsigned tile = 128;
constexpr unsigned step = 32;
constexpr unsigned threads = 256;
constexpr unsigned pitch = step + 8;  // Halves; 80 bytes keep 16-byte accesses conflict-free.
constexpr unsigned pieces = tile * step / 8 / threads;  // 16-byte pieces per thread and matrix.

struct Accumulator {
    float v[8];
};

/// Fetches the thread's pieces of one step of a matrix; zeros outside.
__device__ void fetch(uint4 (&to)[pieces], const half_bits* __restrict__ from, unsigned first,
                      unsigned rows, unsigned k, unsigned k0) {
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
        const unsigned at = p * threads + threadIdx.x;
        const unsigned row = first + at / (step / 8);
        const unsigned kk = k0 + at % (step / 8) * 8;
        to[p] = row < rows && kk < k ? *reinterpret_cast<const uint4*>(
                                           from + static_cast<unsigned long long>(row) * k + kk)
                                     : make_uint4(0, 0, 0, 0);
    }
}

__device__ void keep(half_bits* to, const uint4 (&from)[pieces]) {
#pragma unroll
    for (unsigned p = 0; p < pieces; ++p) {
        const unsigned at = p * threads + threadIdx.x;
        *reinterpret_cast<uint4*>(to + at / (step / 8) * pitch + at % (step / 8) * 8) = from[p];
    }
}

__device__ void load_a(unsigned (&to)[8], unsigned address) {
    asm volatile(
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], "
        "%9;"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]), "=r"(to[4]), "=r"(to[5]), "=r"(to[6]),
          "=r"(to[7])
        : "r"(address), "n"(pitch)
        : "memory");
}

__device__ void load_b(unsigned (&to)[8], unsigned address) {
    asm volatile(
        "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], "
        "%9;"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]), "=r"(to[4]), "=r"(to[5]), "=r"(to[6]),
          "=r"(to[7])
        : "r"(address), "n"(pitch)
        : "memory");
}

__device__ void multiply(Accumulator& d, const unsigned (&a)[8], const unsigned (&b)[8]) {
    asm volatile(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(d.v[0]), "+f"(d.v[1]), "+f"(d.v[2]), "+f"(d.v[3]), "+f"(d.v[4]), "+f"(d.v[5]),
          "+f"(d.v[6]), "+f"(d.v[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
          "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
}

__device__ void store(unsigned address, const Accumulator& d) {
    asm volatile(
        "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, "
        "%8}, %9;"
        :
        : "r"(address), "f"(d.v[0]), "f"(d.v[1]), "f"(d.v[2]), "f"(d.v[3]), "f"(d.v[4]),
          "f"(d.v[5]), "f"(d.v[6]), "f"(d.v[7]), "n"(16)
        : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    gemm_wmma(const half_bits* __restrict__ a, const half_bits* __restrict__ b,
              half_bits* __restrict__ c, unsigned m, unsigned n, unsigned k, float scale,
              const float* __restrict__ operand) {
    __shared__ __align__(128) half_bits of_a[tile * pitch];
    __shared__ __align__(128) half_bits of_b[tile * pitch];
    __shared__ __align__(128) float of_warps[threads / 32][16 * 16];
    const auto place = place_of(blockIdx.x, (m + tile - 1) / tile, (n + tile - 1) / tile);
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned row = warp / 4 * 64;
    const unsigned column = warp % 4 * 32;

    Accumulator sums[4][2] = {};
    uint4 next_a[pieces];
    uint4 next_b[pieces];
    fetch(next_a, a, place.m * tile, m, k, 0);
    fetch(next_b, b, place.n * tile, n, k, 0);
    for (unsigned k0 = 0; k0 < k; k0 += step) {
        keep(of_a, next_a);
        keep(of_b, next_b);
        __syncthreads();
        if (k0 + step < k) {
            fetch(next_a, a, place.m * tile, m, k, k0 + step);
            fetch(next_b, b, place.n * tile, n, k, k0 + step);
        }
#pragma unroll
        for (unsigned kk = 0; kk < step; kk += 16) {
            unsigned fragment_b[2][8];
#pragma unroll
            for (unsigned j = 0; j < 2; ++j)
                load_b(fragment_b[j], shared_address(of_b + (column + j * 16) * pitch + kk));
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                unsigned fragment_a[8];
                load_a(fragment_a, shared_address(of_a + (row + i * 16) * pitch + kk));
#pragma unroll
                for (unsigned j = 0; j < 2; ++j)
                    multiply(sums[i][j], fragment_a, fragment_b[j]);
            }
        }
        __syncthreads();
    }
    const Epilogue epilogue{scale, operand, m, n};
    // The layout of an accumulator is unspecified, so it is stored through shared memory.
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
        for (unsigned j = 0; j < 2; ++j) {
            store(shared_address(of_warps[warp]), sums[i][j]);
            __syncwarp();
            for (unsigned e = lane; e < 16 * 16; e += 32) {
                const unsigned r = place.m * tile + row + i * 16 + e / 16;
                const unsigned col = place.n * tile + column + j * 16 + e % 16;
                if (r < m && col < n)
                    c[static_cast<unsigned long long>(r) * n + col] =
                        to_half(epilogue.of(of_warps[warp][e], r, col));
            }
            __syncwarp();
        }
    }
}
