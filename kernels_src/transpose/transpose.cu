// to[c][r] = from[r][c], in four ways (Best Practices Guide, "Shared Memory in Matrix
// Multiplication" and the transpose example).
namespace {
constexpr unsigned tile = 32;
constexpr unsigned block_rows = 8;

/// Reads what isn't read again.
__device__ float load_once(const float* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float v = 0;
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(from));
    return v;
#else
    return __ldcs(from);
#endif
}

/// Four of them.
__device__ float4 load_four_once(const float* from) {
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
                load_four_once(from + static_cast<unsigned long long>(row) * columns + left + x);
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

// The same for any matrix: 4-byte loads and 16-byte stores. Lines of the result whose length isn't
// a multiple of a sector begin anywhere in one, and memory has to be read where two blocks write
// parts of a sector. So a block stages a sector more of each column than it writes, and begins
// every line where a sector does; those of the first rows begin at the edge.
extern "C" __global__ void __launch_bounds__(512)
    transpose_any(const float* __restrict__ from, float* __restrict__ to, unsigned rows,
                  unsigned columns) {
    constexpr unsigned side = 64;
    constexpr unsigned sector = 8;  // Floats.
    constexpr unsigned height = side + sector;
    constexpr unsigned per_thread = side * height / 512;
    constexpr unsigned lanes = 8;  // Write pieces of a line together.
    __shared__ float staged[height][side + 1];
    const unsigned left = blockIdx.y * side;
    const unsigned top = blockIdx.x * side;
    // All loads before the first store.
    float loaded[per_thread] = {};
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i) {
        const unsigned row = top + (i * 512 + threadIdx.x) / side;
        const unsigned column = left + threadIdx.x % side;
        if (row < rows && column < columns)
            loaded[i] = load_once(from + static_cast<unsigned long long>(row) * columns + column);
    }
#pragma unroll
    for (unsigned i = 0; i < per_thread; ++i)
        staged[(i * 512 + threadIdx.x) / side][threadIdx.x % side] = loaded[i];
    __syncthreads();
    const unsigned x = threadIdx.x / lanes;
    if (left + x >= columns) return;
    float* const line = to + static_cast<unsigned long long>(left + x) * rows + top;
    const unsigned into_sector =
        static_cast<unsigned>(reinterpret_cast<unsigned long long>(line) / 4) % sector;
    const unsigned first = (sector - into_sector) % sector;
    const unsigned lane = threadIdx.x % lanes;
    if (top == 0 && lane < min(first, rows)) __stcs(line + lane, staged[lane][x]);
#pragma unroll
    for (unsigned i = 0; i < side; i += 4 * lanes) {
        const unsigned y = first + i + 4 * lane;
        if (top + y + 4 <= rows) {
            __stcs(reinterpret_cast<float4*>(line + y),
                   make_float4(staged[y][x], staged[y + 1][x], staged[y + 2][x], staged[y + 3][x]));
        } else {
            for (unsigned e = y; e < y + 4 && top + e < rows; ++e)
                __stcs(line + e, staged[e][x]);
        }
    }
}
