// to[c][r] = from[r][c], in four ways (Best Practices Guide, "Shared Memory in Matrix
// Multiplication" and the transpose example).
namespace {
constexpr unsigned tile = 32;
constexpr unsigned block_rows = 8;

/// Reads what nobody reads again.
__device__ float4 load_once(const float* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from));
    return v;
#else
    return __ldcs(reinterpret_cast<const float4*>(from));
#endif
}

template <unsigned pitch>
__device__ void transpose_tile(const float* __restrict__ from, float* __restrict__ to,
                               unsigned rows, unsigned columns) {
    __shared__ float staged[tile][pitch];
    const unsigned column = blockIdx.x * tile + threadIdx.x;
    const unsigned row = blockIdx.y * tile + threadIdx.y;
    for (unsigned j = 0; j < tile; j += block_rows) {
        if (column < columns && row + j < rows)
            staged[threadIdx.y + j][threadIdx.x] =
                from[static_cast<unsigned long long>(row + j) * columns + column];
    }
    __syncthreads();
    const unsigned to_column = blockIdx.y * tile + threadIdx.x;
    const unsigned to_row = blockIdx.x * tile + threadIdx.y;
    for (unsigned j = 0; j < tile; j += block_rows) {
        if (to_column < rows && to_row + j < columns)
            to[static_cast<unsigned long long>(to_row + j) * rows + to_column] =
                staged[threadIdx.x][threadIdx.y + j];
    }
}
}  // namespace

// Reads rows, writes columns: every write is a separate transaction.
extern "C" __global__ void __launch_bounds__(tile* block_rows)
    transpose_naive(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                    unsigned columns) {
    const unsigned column = blockIdx.x * tile + threadIdx.x;
    for (unsigned j = 0; j < tile; j += block_rows) {
        const unsigned row = blockIdx.y * tile + threadIdx.y + j;
        if (column < columns && row < rows)
            to[static_cast<unsigned long long>(column) * rows + row] =
                from[static_cast<unsigned long long>(row) * columns + column];
    }
}

// Through shared memory: both sides are coalesced, but a column of the tile lies in one bank.
extern "C" __global__ void __launch_bounds__(tile* block_rows)
    transpose_tiled(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                    unsigned columns) {
    transpose_tile<tile>(from, to, rows, columns);
}

// One column of padding spreads each column of the tile over all banks.
extern "C" __global__ void __launch_bounds__(tile* block_rows)
    transpose_padded(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                     unsigned columns) {
    transpose_tile<tile + 1>(from, to, rows, columns);
}

// 64 x 64 tiles with 16-byte accesses on both sides; rows and columns are multiples of 4, both
// addresses of 16. Blocks that run at the same time share columns, so that together they write
// whole rows. Data that is read or written once should leave the L2 cache first.
extern "C" __global__ void __launch_bounds__(512)
    transpose_vec16(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                    unsigned columns) {
    constexpr unsigned side = 64;
    constexpr unsigned lines = 32;  // Read or written by a block at a time.
    __shared__ float staged[side][side + 1];
    const unsigned x = threadIdx.x * 4;
    const unsigned left = blockIdx.y * side;
    const unsigned top = blockIdx.x * side;
#pragma unroll
    for (unsigned j = 0; j < side; j += lines) {
        const unsigned row = top + threadIdx.y + j;
        if (left + x < columns && row < rows) {
            const float4 v =
                load_once(from + static_cast<unsigned long long>(row) * columns + left + x);
            float* const line = &staged[threadIdx.y + j][x];
            line[0] = v.x;
            line[1] = v.y;
            line[2] = v.z;
            line[3] = v.w;
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned j = 0; j < side; j += lines) {
        const unsigned y = threadIdx.y + j;
        if (top + x < rows && left + y < columns)
            __stcs(reinterpret_cast<float4*>(to + static_cast<unsigned long long>(left + y) * rows +
                                             top + x),
                   make_float4(staged[x][y], staged[x + 1][y], staged[x + 2][y], staged[x + 3][y]));
    }
}

// The same for any matrix, with 4-byte accesses. Tiles of 128 rows: lines of the result whose length
// isn't a multiple of a sector are written in long pieces.
extern "C" __global__ void __launch_bounds__(512)
    transpose_any(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                  unsigned columns) {
    constexpr unsigned width = 32;
    constexpr unsigned height = 128;
    constexpr unsigned per_thread = width * height / 512;
    __shared__ float staged[height][width + 1];
    const unsigned left = blockIdx.y * width;
    const unsigned top = blockIdx.x * height;
    // All loads before the first store.
    float loaded[per_thread] = {};
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i) {
        const unsigned row = top + (i * 512 + threadIdx.x) / width;
        const unsigned column = left + threadIdx.x % width;
        if (row < rows && column < columns)
            loaded[i] = __ldcs(from + static_cast<unsigned long long>(row) * columns + column);
    }
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i)
        staged[(i * 512 + threadIdx.x) / width][threadIdx.x % width] = loaded[i];
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i) {
        const unsigned x = (i * 512 + threadIdx.x) / height;
        const unsigned y = threadIdx.x % height;
        if (top + y < rows && left + x < columns)
            __stcs(to + static_cast<unsigned long long>(left + x) * rows + top + y, staged[y][x]);
    }
}
