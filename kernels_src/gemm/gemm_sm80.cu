// The matrix product by mma.sync with a ring of stages filled by cp.async (8.0): 128 x 128 x 32
// tiles, eight warps of 64 x 32, ldmatrix from swizzled rows.
//
// k and n are multiples of 8, and a and b are 16-byte aligned. Dynamic shared memory:
// stages · 16384 bytes.
#include "gemm.cuh"

namespace {

constexpr unsigned tile = 128;
constexpr unsigned step = 32;
constexpr unsigned threads = 256;
constexpr unsigned stages = 4;
constexpr unsigned row_bytes = step * 2;  // Four 16-byte pieces.
constexpr unsigned matrix_bytes = tile * row_bytes;
constexpr unsigned stage_bytes = 2 * matrix_bytes;

/// The address of piece `piece` of row `row`: one piece of eight rows lies in eight different
/// banks.
__device__ unsigned swizzled(unsigned row, unsigned piece) {
    return row * row_bytes + (piece ^ (row / 2 % 4)) * 16;
}

/// Starts the copy of one step of a matrix; elements outside become zero.
__device__ void start_copy(unsigned to, const half_bits* __restrict__ from, unsigned first,
                           unsigned rows, unsigned k, unsigned k0) {
#pragma unroll
    for (unsigned i = threadIdx.x; i < tile * 4; i += threads) {
        const unsigned row = i / 4;
        const unsigned piece = i % 4;
        const bool inside = first + row < rows && k0 + piece * 8 < k;
        const auto* const source =
            inside ? from + static_cast<unsigned long long>(first + row) * k + k0 + piece * 8 : from;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + swizzled(row, piece)),
                     "l"(source), "r"(inside ? 16 : 0)
                     : "memory");
    }
}

__device__ void load_matrices(unsigned (&to)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32." LODE_HALF "." LODE_HALF ".f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    gemm_mma(const half_bits* __restrict__ a, const half_bits* __restrict__ b,
             half_bits* __restrict__ c, unsigned m, unsigned n, unsigned k) {
    extern __shared__ __align__(128) unsigned char ring[];
    const unsigned base = shared_address(ring);
    const auto place = place_of(blockIdx.x, (m + tile - 1) / tile, (n + tile - 1) / tile);
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned row = warp / 4 * 64;
    const unsigned column = warp % 4 * 32;
    const unsigned steps = (k + step - 1) / step;

    // One commit per step, even past the end: the group count then tells which steps have arrived.
    const auto fill = [&](unsigned s) {
        if (s < steps) {
            const unsigned to = base + s % stages * stage_bytes;
            start_copy(to, a, place.m * tile, m, k, s * step);
            start_copy(to + matrix_bytes, b, place.n * tile, n, k, s * step);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (unsigned s = 0; s < stages - 1; ++s)
        fill(s);

    float sums[4][4][4] = {};
    for (unsigned s = 0; s < steps; ++s) {
        asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
        __syncthreads();
        fill(s + stages - 1);
        const unsigned of_a = base + s % stages * stage_bytes;
        const unsigned of_b = of_a + matrix_bytes;
#pragma unroll
        for (unsigned kk = 0; kk < step / 16; ++kk) {
            unsigned fragment_a[4][4];
            unsigned fragment_b[2][4];
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                load_matrices(fragment_a[i],
                              of_a + swizzled(row + i * 16 + lane % 16, kk * 2 + lane / 16));
#pragma unroll
            for (unsigned j = 0; j < 2; ++j)
                load_matrices(fragment_b[j],
                              of_b + swizzled(column + j * 16 + lane / 16 * 8 + lane % 8,
                                              kk * 2 + lane / 8 % 2));
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
                for (unsigned j = 0; j < 4; ++j)
                    multiply(sums[i][j], fragment_a[i], fragment_b[j / 2][j % 2 * 2],
                             fragment_b[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned r = place.m * tile + row + i * 16 + lane / 4;
            const unsigned col = place.n * tile + column + j * 8 + lane % 4 * 2;
            if (col >= n) continue;
            half_bits* const at = c + static_cast<unsigned long long>(r) * n + col;
            if (r < m) *reinterpret_cast<unsigned*>(at) = to_half2(sums[i][j][0], sums[i][j][1]);
            if (r + 8 < m)
                *reinterpret_cast<unsigned*>(at + 8ULL * n) = to_half2(sums[i][j][2], sums[i][j][3]);
        }
    }
}
