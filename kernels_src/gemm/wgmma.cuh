// Instructions of 9.0a for the matrix product: barriers, tensor copies with multicast, and products
// of a warpgroup (wgmma).
// (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Tensors" and "mbarrier".)
#pragma once

#include "gemm.cuh"

namespace {

struct alignas(64) TensorMap {
    unsigned char opaque[128];
};

__device__ inline void init_barrier(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

/// Waits until the phase with this parity has ended.
__device__ inline void wait(unsigned barrier, unsigned parity) {
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

/// What lies at this address of the shared memory of the block with this rank in the cluster.
__device__ inline unsigned address_at(unsigned address, unsigned rank) {
    unsigned remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
    return remote;
}

/// Arrives at the barrier at this address of the block with this rank in the cluster. Releases
/// nothing to other blocks, which would cost a fence of all memory: the reads of products that it
/// reports are done.
__device__ inline void arrive_at(unsigned barrier, unsigned rank) {
    asm volatile(
        "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(address_at(barrier, rank))
        : "memory");
}

__device__ inline void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ inline void expect_bytes(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Fetches a map before its first use.
__device__ inline void prefetch(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Copies a box to this block.
__device__ inline void load_box(unsigned to, const TensorMap& map, unsigned column, unsigned row,
                                unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, %3}], [%4];"
        :
        : "r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}

/// Copies a box to the same place of every block of the cluster that is in the mask.
__device__ inline void load_box(unsigned to, const TensorMap& map, unsigned column, unsigned row,
                                unsigned barrier, unsigned short mask) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
        "cluster [%0], [%1, {%2, %3}], [%4], %5;"
        :
        : "r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(mask)
        : "memory");
}

/// Starts the copy of a box to global memory as a bulk group of its own.
__device__ inline void store_box(const TensorMap& map, unsigned column, unsigned row,
                                 unsigned from) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
        "cp.async.bulk.commit_group;"
        :
        : "l"(&map), "r"(column), "r"(row), "r"(from)
        : "memory");
}

/// Stores four 8 x 8 matrices of 16-bit elements; each lane has the address of a row.
__device__ inline void store_matrices(unsigned address, unsigned a, unsigned b, unsigned c,
                                      unsigned d) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
        "r"(a), "r"(b), "r"(c), "r"(d)
        : "memory");
}

#define LODE_8(i)                                                                               \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define LODE_32(i) LODE_8(i), LODE_8(i + 8), LODE_8(i + 16), LODE_8(i + 24)
#define LODE_NAMES_32                                                                            \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LODE_NAMES_64                                                                         \
    LODE_NAMES_32                                                                             \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, " \
    "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define LODE_NAMES_72 LODE_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define LODE_NAMES_96                                                                         \
    LODE_NAMES_64                                                                             \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
    "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define LODE_NAMES_128                                                                           \
    LODE_NAMES_96                                                                                \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "   \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, " \
    "%126, %127"

// A product's element types, and the orders of a and b: 0 is K-major, 1 MN-major. Bytes have no
// order.
#ifdef LODE_GEMM_FP8
#define LODE_TYPES "k32.f32.e4m3.e4m3"
#define LODE_ORDERS(a, b)
#define LODE_ORDER_OPERANDS
#else
#define LODE_TYPES "k16.f32." LODE_HALF "." LODE_HALF
#define LODE_ORDERS(a, b) ", " a ", " b
#define LODE_ORDER_OPERANDS , "n"(a_m_major ? 1 : 0), "n"(b_n_major ? 1 : 0)
#endif

/// d = a · b (+ d if `adds`) for a warpgroup: 64 rows and 32 bytes of k, d has columns / 2
/// elements. a and b are matrix descriptors.
template <unsigned columns>
__device__ void multiply(float* d, unsigned long long a, unsigned long long b, int adds);

#define LODE_PRODUCT(columns, names, sums, a_name, b_name, adds_name, a_order, b_order)            \
    template <>                                                                                    \
    __device__ inline void multiply<columns>(float* d, unsigned long long a, unsigned long long b, \
                                             int adds) {                                           \
        asm volatile(                                                                       \
            "{\n"                                                                           \
            ".reg .pred p;\n"                                                               \
            "setp.ne.b32 p, " adds_name ", 0;\n"                                            \
            "wgmma.mma_async.sync.aligned.m64n" #columns LODE_TYPES " {" names "}, " a_name \
            ", " b_name ", p, 1, 1" LODE_ORDERS(a_order, b_order) ";\n"                     \
            "}\n"                                                                           \
            : sums                                                                          \
            : "l"(a), "l"(b), "r"(adds) LODE_ORDER_OPERANDS);      \
    }
#define LODE_SUMS_32 LODE_32(0)
#define LODE_SUMS_64 LODE_SUMS_32, LODE_32(32)
#define LODE_SUMS_72 LODE_SUMS_64, LODE_8(64)
#define LODE_SUMS_96 LODE_SUMS_64, LODE_32(64)
#define LODE_SUMS_128 LODE_SUMS_96, LODE_32(96)

LODE_PRODUCT(64, LODE_NAMES_32, LODE_SUMS_32, "%32", "%33", "%34", "%35", "%36")
LODE_PRODUCT(128, LODE_NAMES_64, LODE_SUMS_64, "%64", "%65", "%66", "%67", "%68")
LODE_PRODUCT(144, LODE_NAMES_72, LODE_SUMS_72, "%72", "%73", "%74", "%75", "%76")
LODE_PRODUCT(192, LODE_NAMES_96, LODE_SUMS_96, "%96", "%97", "%98", "%99", "%100")
LODE_PRODUCT(256, LODE_NAMES_128, LODE_SUMS_128, "%128", "%129", "%130", "%131", "%132")

#undef LODE_PRODUCT

/// The matrix descriptor of a block in shared memory with the 128-byte swizzle, in which eight rows
/// of 128 bytes are a unit: rows along k if the matrix is K-major, else rows along m or n, in
/// blocks of 64 columns that are 64 rows high.
template <bool mn_major>
__device__ inline unsigned long long descriptor_of(unsigned address) {
    constexpr unsigned long long leading = (mn_major ? 8192ULL >> 4 : 1ULL) << 16;
    constexpr unsigned long long stride = (1024ULL >> 4) << 32;
    constexpr unsigned long long swizzle_128 = 1ULL << 62;
    return swizzle_128 | stride | leading | ((address & 0x3ffffU) >> 4);
}

/// What the next 32 bytes of k add to a descriptor.
template <bool mn_major>
constexpr unsigned long long descriptor_step = (mn_major ? 2048 : 32) >> 4;

}  // namespace
