// z = a·x + y by bulk copies: a ring of tiles in shared memory, filled by the copy engine (PTX ISA,
// "cp.async.bulk"; mbarrier), so that no thread waits for its own loads. For so little arithmetic,
// plain 16-byte loads are slightly faster; the ring pays off if the threads do more work per
// element.
//
// Dynamic shared memory: stages · 2 · tile floats.
namespace {

constexpr unsigned stages = 3;
constexpr unsigned tile = 1024;  // Elements.
constexpr unsigned tile_bytes = tile * 4;
constexpr unsigned threads = 256;

__device__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void load(unsigned to, const float* from, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        :
        : "r"(to), "l"(from), "n"(tile_bytes), "r"(barrier)
        : "memory");
}

__device__ void wait(unsigned barrier, unsigned phase) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n"
        :
        : "r"(barrier), "r"(phase)
        : "memory");
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads)
    axpy_bulk(float a, const float* __restrict__ x, const float* __restrict__ y,
              float* __restrict__ z, unsigned long long n) {
    extern __shared__ __align__(128) float ring[];
    __shared__ __align__(8) unsigned long long full[stages];

    const auto addresses = reinterpret_cast<unsigned long long>(x) |
                           reinterpret_cast<unsigned long long>(y) |
                           reinterpret_cast<unsigned long long>(z);
    const unsigned long long tiles = addresses % 16 == 0 ? n / tile : 0;
    const bool leads = threadIdx.x == 0;

    if (leads) {
        for (unsigned s = 0; s < stages; ++s)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s]))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    // Tile i of this block is tile blockIdx.x + i·gridDim.x of the vector, in stage i mod stages.
    const auto fill = [&](unsigned long long i) {
        const unsigned long long t = blockIdx.x + i * gridDim.x;
        if (t >= tiles) return;
        const unsigned s = static_cast<unsigned>(i % stages);
        const unsigned barrier = shared_address(&full[s]);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "n"(2 * tile_bytes)
                     : "memory");
        load(shared_address(ring + (2 * s) * tile), x + t * tile, barrier);
        load(shared_address(ring + (2 * s + 1) * tile), y + t * tile, barrier);
    };
    if (leads) {
        for (unsigned s = 0; s < stages; ++s)
            fill(s);
    }

    for (unsigned long long i = 0; blockIdx.x + i * gridDim.x < tiles; ++i) {
        const unsigned s = static_cast<unsigned>(i % stages);
        wait(shared_address(&full[s]), static_cast<unsigned>(i / stages) & 1U);

        const auto* const u = reinterpret_cast<const float4*>(ring + (2 * s) * tile);
        const auto* const v = reinterpret_cast<const float4*>(ring + (2 * s + 1) * tile);
        auto* const to = reinterpret_cast<float4*>(z + (blockIdx.x + i * gridDim.x) * tile);
#pragma unroll
        for (unsigned j = threadIdx.x; j < tile / 4; j += threads) {
            const float4 p = u[j];
            const float4 q = v[j];
            __stcs(to + j, make_float4(fmaf(a, p.x, q.x), fmaf(a, p.y, q.y), fmaf(a, p.z, q.z),
                                       fmaf(a, p.w, q.w)));
        }
        __syncthreads();  // All threads have read the stage.
        if (leads) fill(i + stages);
    }

    // Elements after the last whole tile, one at a time.
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    for (unsigned long long i = tiles * tile + blockIdx.x * static_cast<unsigned long long>(threads) +
                                threadIdx.x;
         i < n; i += step)
        z[i] = fmaf(a, x[i], y[i]);
}
