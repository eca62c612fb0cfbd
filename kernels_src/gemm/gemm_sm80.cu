// The matrix product by mma.sync with a ring of stages filled by cp.async (8.0): warps of 64 x 64,
// whose fragments come from swizzled rows by ldmatrix, those of the next 16 of k during the
// products of the current ones. Definitions choose the shape:
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
#define LODE_GEMM_COLUMNS 128
#endif
#ifndef LODE_GEMM_STAGES
#define LODE_GEMM_STAGES 3
#endif
#ifndef LODE_GEMM_STEP
#define LODE_GEMM_STEP 64
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

/// The address in a stage of the piece with row `i` of m or n (the first of eight if the matrix is
/// MN-major) and with `kk` (the first of eight if it is K-major). Rows that ldmatrix reads together
/// lie in different banks.
template <bool mn_major, unsigned rows>
__device__ unsigned piece_at(unsigned i, unsigned kk) {
    if (mn_major) return kk * rows * 2 + ((i / 8) ^ (kk % 8)) * 16;
    return i * step * 2 + ((kk / 8) ^ (step == 64 ? i % 8 : i / 2 % 4)) * 16;
}

/// A thread's pieces of the steps of a matrix in global memory, which has `extent` rows of m or n,
/// with k along them or across. What doesn't change from step to step is computed once.
template <bool mn_major, unsigned rows>
class Copier {
public:
    /// Begins at row `first`.
    __device__ Copier(const half_bits* __restrict__ matrix, unsigned extent, unsigned k,
                      unsigned first)
        : k_(k) {
        const unsigned along = threadIdx.x % across * 8;
        const unsigned other = threadIdx.x / across;
        const unsigned row = mn_major ? along : other;
        const unsigned pitch = mn_major ? extent : k;
        kk_ = mn_major ? other : along;
        to_ = piece_at<mn_major, rows>(row, kk_);
        hop_ = static_cast<unsigned long long>(apart) * pitch;
        advance_ = mn_major ? static_cast<unsigned long long>(step) * pitch : step;
        from_ = matrix + (mn_major ? static_cast<unsigned long long>(kk_) * pitch + first + row
                                   : static_cast<unsigned long long>(first + row) * pitch + kk_);
        // Piece i has row first + row + i · apart, or that row if the matrix is MN-major.
        const unsigned left = first + row < extent ? extent - first - row : 0;
        inside_ = mn_major ? (left > 0 ? pieces : 0) : min((left + apart - 1) / apart, pieces);
    }

    /// Starts the copy of the next step; elements outside become zero.
    __device__ void start(unsigned stage) {
        const half_bits* from = from_;
#pragma unroll
        for (unsigned i = 0; i < pieces; ++i) {
            const bool inside = i < inside_ && kk_ + (mn_major ? i * apart : 0) < k_;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                             stage + to_ + i * apart * pitch_bytes),
                         "l"(from), "r"(inside ? 16 : 0)
                         : "memory");
            from += hop_;
        }
        from_ += advance_;
        kk_ += step;
    }

private:
    static constexpr unsigned across =
        (mn_major ? rows : step) / 8;  // Pieces of 16 bytes in a row.
    static constexpr unsigned pieces = rows * step / 8 / threads;
    static constexpr unsigned apart = threads / across;  // Rows between a thread's pieces.
    static constexpr unsigned pitch_bytes = (mn_major ? rows : step) * 2;
    static_assert(apart % 8 == 0, "a thread's pieces have the same swizzle");

    const half_bits* from_;
    unsigned long long hop_;
    unsigned long long advance_;
    unsigned k_;
    unsigned kk_;
    unsigned to_;
    unsigned inside_;
};

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
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." LODE_HALF "." LODE_HALF
                 ".f32 {%0, %1, %2, %3}, "
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
    Copier<a_m_major, tile_m> copier_a(a, m, k, place.m * tile_m);
    Copier<b_n_major, tile_n> copier_b(b, n, k, place.n * tile_n);
    const auto fill = [&](unsigned s) {
        if (s < steps) {
            const unsigned to = base + s % stages * stage_bytes;
            copier_a.start(to);
            copier_b.start(to + a_bytes);
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
