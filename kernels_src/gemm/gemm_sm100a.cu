// The matrix product by tcgen05 for data-centre Blackwell (10.0a): 128 x 128 tiles, sums in tensor
// memory, input copied by the tensor memory accelerator. One warp fills the ring, one issues the
// products, all four write the tile.
//
// Compiled but never run: no 10.0 device was available. n and k are multiples of 8. Both maps have
// the 128-byte swizzle and boxes of 128 rows of 64 halves. Dynamic shared memory: stages · 32768
// bytes and 1024 for alignment.
// (PTX ISA, "TensorCore 5th Generation Family Instructions".)
#include "gemm.cuh"

namespace {

constexpr unsigned tile = 128;
constexpr unsigned step = 64;  // Halves: one swizzle row of 128 bytes.
constexpr unsigned stages = 4;
constexpr unsigned threads = 128;
constexpr unsigned matrix_bytes = tile * step * 2;
constexpr unsigned stage_bytes = 2 * matrix_bytes;
constexpr unsigned ring_alignment = 1024;
constexpr unsigned tensor_columns = tile;  // One 32-bit column of tensor memory per column of C.

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ void init_barrier(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n"
        :
        : "r"(barrier), "r"(parity)
        : "memory");
}

__device__ void load_box(unsigned to, const TensorMap& map, unsigned column, unsigned row,
                         unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, %3}], [%4];"
        :
        : "r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}

/// The shared-memory descriptor of K-major rows with the 128-byte swizzle.
__device__ unsigned long long descriptor_of(unsigned address) {
    constexpr unsigned long long leading = 1ULL << 16;  // Ignored with a swizzle.
    constexpr unsigned long long stride = static_cast<unsigned long long>(1024 >> 4) << 32;
    constexpr unsigned long long version = 1ULL << 46;
    constexpr unsigned long long swizzle_128 = 2ULL << 61;
    return swizzle_128 | version | stride | leading | ((address & 0x3ffffU) >> 4);
}

/// Instruction descriptor: single-precision sums of halves, both K-major, 128 x 128.
#ifdef LODE_GEMM_BF16
constexpr unsigned element = 1;
#else
constexpr unsigned element = 0;
#endif
constexpr unsigned instruction =
    1U << 4 | element << 7 | element << 10 | (tile / 8) << 17 | (tile / 16) << 24;

/// 128 x 128 x 16 products into tensor memory, added to its sums if `adds`. Called by one thread.
__device__ void multiply(unsigned sums, unsigned long long a, unsigned long long b, bool adds) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n"
        "}\n"
        :
        : "r"(sums), "l"(a), "l"(b), "r"(instruction), "r"(adds ? 1 : 0)
        : "memory");
}

/// Arrives at the barrier when all products issued so far by this thread are done.
__device__ void commit(unsigned barrier) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
        : "memory");
}

/// Loads 32 adjacent sums of this lane's row.
__device__ void load_sums(unsigned (&d)[32], unsigned address) {
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
        "%12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]),
          "=r"(d[7]), "=r"(d[8]), "=r"(d[9]), "=r"(d[10]), "=r"(d[11]), "=r"(d[12]), "=r"(d[13]),
          "=r"(d[14]), "=r"(d[15]), "=r"(d[16]), "=r"(d[17]), "=r"(d[18]), "=r"(d[19]), "=r"(d[20]),
          "=r"(d[21]), "=r"(d[22]), "=r"(d[23]), "=r"(d[24]), "=r"(d[25]), "=r"(d[26]), "=r"(d[27]),
          "=r"(d[28]), "=r"(d[29]), "=r"(d[30]), "=r"(d[31])
        : "r"(address)
        : "memory");
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    // The compiler doesn't know when the load ends: keeps it from reading sums above this line.
#pragma unroll
    for (unsigned i = 0; i < 32; ++i)
        asm volatile("" : "+r"(d[i])::"memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    gemm_tcgen05(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                 half_bits* __restrict__ c, unsigned m, unsigned n, unsigned k, float scale,
                 const float* __restrict__ operand) {
    extern __shared__ unsigned char dynamic[];
    __shared__ __align__(8) unsigned long long full_barriers[stages];
    __shared__ __align__(8) unsigned long long empty_barriers[stages];
    __shared__ __align__(8) unsigned long long done_barrier;
    __shared__ unsigned sums_address;
    const unsigned ring =
        (shared_address(dynamic) + ring_alignment - 1) / ring_alignment * ring_alignment;
    const unsigned full = shared_address(full_barriers);
    const unsigned empty = shared_address(empty_barriers);
    const unsigned done = shared_address(&done_barrier);
    const unsigned warp = threadIdx.x / 32;
    const unsigned lane = threadIdx.x % 32;
    const auto place = place_of(blockIdx.x, (m + tile - 1) / tile, (n + tile - 1) / tile);
    const unsigned steps = (k + step - 1) / step;

    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < stages; ++s) {
            init_barrier(full + s * 8, 1);
            init_barrier(empty + s * 8, 1);
        }
        init_barrier(done, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    if (warp == 0) {
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                         shared_address(&sums_address)),
                     "n"(tensor_columns)
                     : "memory");
        asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    const unsigned sums = *static_cast<volatile unsigned*>(&sums_address);

    if (warp == 0 && lane == 0) {
        for (unsigned i = 0; i < steps; ++i) {
            const unsigned s = i % stages;
            wait(empty + s * 8, (i / stages & 1U) ^ 1U);
            const unsigned barrier = full + s * 8;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "n"(stage_bytes)
                         : "memory");
            const unsigned to = ring + s * stage_bytes;
            load_box(to, a_map, i * step, place.m * tile, barrier);
            load_box(to + matrix_bytes, b_map, i * step, place.n * tile, barrier);
        }
    } else if (warp == 1 && lane == 0) {
        for (unsigned i = 0; i < steps; ++i) {
            const unsigned s = i % stages;
            wait(full + s * 8, i / stages & 1U);
            asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
            const auto a = descriptor_of(ring + s * stage_bytes);
            const auto b = descriptor_of(ring + s * stage_bytes + matrix_bytes);
            for (unsigned kk = 0; kk < step / 16; ++kk)
                multiply(sums, a + kk * 2, b + kk * 2, i > 0 || kk > 0);  // Advances by 32 bytes.
            commit(empty + s * 8);
        }
        commit(done);
    }
    __syncwarp();
    wait(done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");

    // Warp w holds rows 32·w … 32·w + 31, one row per lane.
    const Epilogue epilogue{scale, operand, m, n};
    const unsigned r = place.m * tile + threadIdx.x;
    for (unsigned column = 0; column < tile; column += 32) {
        unsigned d[32];
        load_sums(d, sums + (warp * 32 << 16) + column);
        const unsigned first = place.n * tile + column;
        half_bits* const at = c + static_cast<unsigned long long>(r) * n + first;
#pragma unroll
        for (unsigned i = 0; i < 32; i += 2) {
            if (r < m && first + i < n)
                *reinterpret_cast<unsigned*>(at + i) =
                    epilogue.pair(__uint_as_float(d[i]), __uint_as_float(d[i + 1]), r, first + i);
        }
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    if (warp == 0) {
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(sums),
                     "n"(tensor_columns));
    }
}
