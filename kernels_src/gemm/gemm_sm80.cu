// The matrix product by mma.sync with a ring of stages filled by cp.async (8.0): warps of 64 x 64,
// whose fragments come from swizzled rows by ldmatrix, those of the next 16 of k during the products
// of the current ones. Definitions choose the shape:
//
//     LODE_GEMM_ROWS, LODE_GEMM_COLUMNS   of a tile, multiples of 64
//     LODE_GEMM_STAGES                    of the ring
//     LODE_GEMM_STEP                      of k, 32 or 64
//     LODE_GEMM_GROUP                     of tile rows in the order of tiles
//
// and those of gemm.cuh the elements, the layouts and the epilogue. Rows of A, B and C start at
// multiples of 16 bytes. Dynamic shared memory: stages · (rows + columns) · step · 2 bytes.
#include "gemm.cuh"

#ifndef LODE_GEMM_ROWS
#define LODE_GEMM_ROWS 128
#endif
#ifndef LODE_GEMM_COLUMNS
#define LODE_GEMM_COLUMNS 256
#endif
#ifndef LODE_GEMM_STAGES
#define LODE_GEMM_STAGES 4
#endif
#ifndef LODE_GEMM_STEP
#define LODE_GEMM_STEP 32
#endif
#ifndef LODE_GEMM_GROUP
#define LODE_GEMM_GROUP 8
#endif

namespace {

constexpr unsigned tile_m = LODE_GEMM_ROWS;
constexpr unsigned tile_n = LODE_GEMM_COLUMNS;
constexpr unsigned part = 64;  // Rows and columns of a warp.
constexpr unsigned warps_n = tile_n / part;
constexpr unsigned threads = tile_m / part * warps_n * 32;
constexpr unsigned stages = LODE_GEMM_STAGES;
constexpr unsigned step = LODE_GEMM_STEP;
constexpr unsigned a_bytes = tile_m * step * 2;
constexpr unsigned stage_bytes = a_bytes + tile_n * step * 2;
constexpr unsigned halves_of_piece = 8;  // Pieces of 16 bytes.

/// A matrix in global memory: `extent` rows of m or n, k along them or across.
struct Matrix {
    const half_bits* __restrict__ at;
    unsigned extent;
    unsigned k;
};

/// The address in a stage of the piece with row `i` of m or n (the first of eight if the matrix is
/// MN-major) and with `kk` (the first of eight if it is K-major). Rows that ldmatrix reads together
/// lie in different banks.
template <bool mn_major, unsigned rows>
__device__ unsigned piece_at(unsigned i, unsigned kk) {
    if (mn_major) return kk * rows * 2 + ((i / 8) ^ (kk % 8)) * 16;
    return i * step * 2 + ((kk / 8) ^ (step == 64 ? i % 8 : i / 2 % 4)) * 16;
}

/// Starts the copy of one step of a matrix from row `first` on; elements outside become zero.
template <bool mn_major, unsigned rows>
__device__ void start_copy(unsigned to, const Matrix& from, unsigned first, unsigned k0) {
    constexpr unsigned across = (mn_major ? rows : step) / halves_of_piece;
#pragma unroll
    for (unsigned p = 0; p < rows * step / halves_of_piece / threads; ++p) {
        const unsigned piece = p * threads + threadIdx.x;
        const unsigned along = piece % across * halves_of_piece;
        const unsigned i = mn_major ? along : piece / across;
        const unsigned kk = mn_major ? piece / across : along;
        const unsigned row = first + i;
        const unsigned column = k0 + kk;
        const bool inside = row < from.extent && column < from.k;
        const auto offset = mn_major ? static_cast<unsigned long long>(column) * from.extent + row
                                     : static_cast<unsigned long long>(row) * from.k + column;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                         to + piece_at<mn_major, rows>(i, kk)),
                     "l"(from.at + (inside ? offset : 0)), "r"(inside ? 16 : 0)
                     : "memory");
    }
}

/// Loads 16 rows of m or n and 16 of k: matrices of 8 x 8 from these places on, in which a thread's
/// pair of elements is along k. `rows_first` is their order.
template <bool mn_major, unsigned rows, bool rows_first>
__device__ void load_fragment(unsigned (&to)[4], unsigned stage, unsigned i, unsigned kk) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned low = lane / 8 % 2 * 8;
    const unsigned high = lane / 16 * 8;
    unsigned row = i + (rows_first ? low : high);
    unsigned column = kk + (rows_first ? high : low);
    if (mn_major) {
        column += lane % 8;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(stage + piece_at<mn_major, rows>(row, column))
                     : "memory");
    } else {
        row += lane % 8;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(stage + piece_at<mn_major, rows>(row, column))
                     : "memory");
    }
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32." LODE_HALF "." LODE_HALF ".f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// A warp's part of 16 of k.
struct Fragments {
    unsigned a[part / 16][4];
    unsigned b[part / 16][4];

    __device__ void load(unsigned stage, unsigned row, unsigned column, unsigned kk) {
#pragma unroll
        for (unsigned i = 0; i < part / 16; ++i)
            load_fragment<a_m_major, tile_m, true>(a[i], stage, row + i * 16, kk);
#pragma unroll
        for (unsigned j = 0; j < part / 16; ++j)
            load_fragment<b_n_major, tile_n, false>(b[j], stage + a_bytes, column + j * 16, kk);
    }
};

template <unsigned pending>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
    __syncthreads();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, threads <= 128 ? 2 : 1)
    gemm_mma(const half_bits* __restrict__ a, const half_bits* __restrict__ b,
             half_bits* __restrict__ c, unsigned m, unsigned n, unsigned k, float scale,
             const float* __restrict__ operand) {
    extern __shared__ __align__(128) unsigned char ring[];
    const unsigned base = shared_address(ring);
    const auto place =
        place_of<LODE_GEMM_GROUP>(blockIdx.x, (m + tile_m - 1) / tile_m, (n + tile_n - 1) / tile_n);
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const unsigned row = warp / warps_n * part;
    const unsigned column = warp % warps_n * part;
    const unsigned steps = (k + step - 1) / step;

    // One commit per step, even past the end: the group count then tells which steps have arrived.
    const auto fill = [&](unsigned s) {
        if (s < steps) {
            const unsigned to = base + s % stages * stage_bytes;
            start_copy<a_m_major, tile_m>(to, {a, m, k}, place.m * tile_m, s * step);
            start_copy<b_n_major, tile_n>(to + a_bytes, {b, n, k}, place.n * tile_n, s * step);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (unsigned s = 0; s < stages - 1; ++s)
        fill(s);

    float sums[part / 16][part / 8][4] = {};
    const auto multiply_all = [&](const Fragments& of) {
#pragma unroll
        for (unsigned i = 0; i < part / 16; ++i) {
#pragma unroll
            for (unsigned j = 0; j < part / 8; ++j)
                multiply(sums[i][j], of.a[i], of.b[j / 2][j % 2 * 2], of.b[j / 2][j % 2 * 2 + 1]);
        }
    };
    Fragments even;
    Fragments odd;
    wait_for_copies<stages - 2>();
    even.load(base, row, column, 0);
    for (unsigned s = 0; s < steps; ++s) {
        const unsigned stage = base + s % stages * stage_bytes;
#pragma unroll
        for (unsigned kk = 0; kk < step; kk += 32) {
            odd.load(stage, row, column, kk + 16);
            // The stage of the previous step: every warp has read it before the last wait.
            if (kk == 0) fill(s + stages - 1);
            multiply_all(even);
            if (kk + 32 < step) {
                even.load(stage, row, column, kk + 32);
            } else {
                wait_for_copies<stages - 2>();
                if (s + 1 < steps) even.load(base + (s + 1) % stages * stage_bytes, row, column, 0);
            }
            multiply_all(odd);
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");

    const Epilogue epilogue{scale, operand, m, n};
#pragma unroll
    for (unsigned i = 0; i < part / 16; ++i) {
#pragma unroll
        for (unsigned j = 0; j < part / 8; ++j) {
            const unsigned r = place.m * tile_m + row + i * 16 + lane / 4;
            const unsigned col = place.n * tile_n + column + j * 8 + lane % 4 * 2;
            if (col >= n) continue;
            const float* const sum = sums[i][j];
            half_bits* const at = c + static_cast<unsigned long long>(r) * n + col;
            if (r < m) *reinterpret_cast<unsigned*>(at) = epilogue.pair(sum[0], sum[1], r, col);
            if (r + 8 < m)
                *reinterpret_cast<unsigned*>(at + 8ULL * n) =
                    epilogue.pair(sum[2], sum[3], r + 8, col);
        }
    }
}
