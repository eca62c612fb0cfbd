// The matrix product by wgmma with input from the tensor memory accelerator (9.0a): persistent
// blocks of three warpgroups. The first fills a ring of 128 x 64 and 256 x 64 tiles, the other two
// multiply 64 x 256 each.
//
// n and k are multiples of 8. Both maps have the 128-byte swizzle, boxes of 128 and 256 rows of 64
// halves. Dynamic shared memory: stages · 49152 bytes and 1024 for alignment.
// (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions" and "Tensors".)
#include "gemm.cuh"

namespace {

constexpr unsigned tile_m = 128;
constexpr unsigned tile_n = 256;
constexpr unsigned step = 64;  // Halves: one swizzle row of 128 bytes.
constexpr unsigned stages = 4;
constexpr unsigned group_size = 128;
constexpr unsigned consumers = 2;
constexpr unsigned threads = group_size * (1 + consumers);
constexpr unsigned a_bytes = tile_m * step * 2;
constexpr unsigned b_bytes = tile_n * step * 2;
constexpr unsigned stage_bytes = a_bytes + b_bytes;
constexpr unsigned ring_alignment = 1024;  // The swizzle pattern repeats after 8 rows.

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ void init_barrier(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
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

__device__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
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

/// The matrix descriptor of K-major rows with the 128-byte swizzle: eight rows are 1024 bytes.
__device__ unsigned long long descriptor_of(unsigned address) {
    constexpr unsigned long long leading = 1ULL << 16;  // Ignored with a swizzle.
    constexpr unsigned long long stride = static_cast<unsigned long long>(1024 >> 4) << 32;
    constexpr unsigned long long swizzle_128 = 1ULL << 62;
    return swizzle_128 | stride | leading | ((address & 0x3ffffU) >> 4);
}

#define LODE_8(i)                                                                                 \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),  \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define LODE_32(i) LODE_8(i), LODE_8(i + 8), LODE_8(i + 16), LODE_8(i + 24)

/// d = a · b (+ d if `adds`): 64 x 256 x 16.
__device__ void multiply(float (&d)[128], unsigned long long a, unsigned long long b, int adds) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32." LODE_HALF "." LODE_HALF " {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, p, 1, 1, 0, 0;\n"
        "}\n"
        : LODE_32(0), LODE_32(32), LODE_32(64), LODE_32(96)
        : "l"(a), "l"(b), "r"(adds));
}

#undef LODE_32
#undef LODE_8

/// Fills the ring; run by one thread of the producer warpgroup.
__device__ void produce(const TensorMap& a_map, const TensorMap& b_map, unsigned ring, unsigned full,
                        unsigned empty, unsigned tiles_m, unsigned tiles_n, unsigned steps) {
    unsigned filled = 0;
    for (unsigned t = blockIdx.x; t < tiles_m * tiles_n; t += gridDim.x) {
        const auto place = place_of(t, tiles_m, tiles_n);
        for (unsigned i = 0; i < steps; ++i, ++filled) {
            const unsigned s = filled % stages;
            // In the first round every stage is empty: the phase before the first counts as
            // complete.
            wait(empty + s * 8, (filled / stages & 1U) ^ 1U);
            const unsigned barrier = full + s * 8;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "n"(stage_bytes)
                         : "memory");
            const unsigned to = ring + s * stage_bytes;
            load_box(to, a_map, i * step, place.m * tile_m, barrier);
            load_box(to + a_bytes, b_map, i * step, place.n * tile_n, barrier);
        }
    }
}

/// Writes a warpgroup's 64 x 256 sums, whose first row is `first_row`.
__device__ void write_tile(const float (&d)[128], half_bits* __restrict__ c, unsigned first_row,
                           unsigned first_column, unsigned m, unsigned n) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x % group_size / 32;
    const unsigned r = first_row + warp * 16 + lane / 4;
#pragma unroll
    for (unsigned j = 0; j < tile_n / 8; ++j) {
        const unsigned column = first_column + j * 8 + lane % 4 * 2;
        if (column >= n) continue;
        half_bits* const at = c + static_cast<unsigned long long>(r) * n + column;
        if (r < m) *reinterpret_cast<unsigned*>(at) = to_half2(d[4 * j], d[4 * j + 1]);
        if (r + 8 < m)
            *reinterpret_cast<unsigned*>(at + 8ULL * n) = to_half2(d[4 * j + 2], d[4 * j + 3]);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    gemm_wgmma(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
               half_bits* __restrict__ c, unsigned m, unsigned n, unsigned k) {
    extern __shared__ unsigned char dynamic[];
    __shared__ __align__(8) unsigned long long full_barriers[stages];
    __shared__ __align__(8) unsigned long long empty_barriers[stages];
    const unsigned ring =
        (shared_address(dynamic) + ring_alignment - 1) / ring_alignment * ring_alignment;
    const unsigned full = shared_address(full_barriers);
    const unsigned empty = shared_address(empty_barriers);
    const unsigned tiles_m = (m + tile_m - 1) / tile_m;
    const unsigned tiles_n = (n + tile_n - 1) / tile_n;
    const unsigned steps = (k + step - 1) / step;

    if (threadIdx.x == 0) {
        for (unsigned s = 0; s < stages; ++s) {
            init_barrier(full + s * 8, 1);
            init_barrier(empty + s * 8, consumers);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    const unsigned group = threadIdx.x / group_size;
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(a_map, b_map, ring, full, empty, tiles_m, tiles_n, steps);
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    const unsigned consumer = group - 1;
    const bool signals = threadIdx.x % group_size == 0;
    unsigned used = 0;
    float d[128];
    for (unsigned t = blockIdx.x; t < tiles_m * tiles_n; t += gridDim.x) {
        for (unsigned i = 0; i < steps; ++i, ++used) {
            const unsigned s = used % stages;
            wait(full + s * 8, used / stages & 1U);
            const unsigned stage = ring + s * stage_bytes;
            const auto a = descriptor_of(stage + consumer * 64 * step * 2);
            const auto b = descriptor_of(stage + a_bytes);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (unsigned kk = 0; kk < step / 16; ++kk)
                multiply(d, a + kk * 2, b + kk * 2, i > 0 || kk > 0);  // Advances by 32 bytes.
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            // Waits until only this step's products are in flight: those of the previous step are
            // done.
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (i > 0 && signals) arrive(empty + (used - 1) % stages * 8);
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (signals) arrive(empty + (used - 1) % stages * 8);
        // The compiler doesn't know when the products end: keeps it from reading sums above this
        // line.
#pragma unroll
        for (unsigned i = 0; i < 128; ++i)
            asm volatile("" : "+f"(d[i])::"memory");
        const auto place = place_of(t, tiles_m, tiles_n);
        write_tile(d, c, place.m * tile_m + consumer * 64, place.n * tile_n, m, n);
    }
}
