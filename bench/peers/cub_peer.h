/* The C interface of the shared library with CUB's algorithms, which the benches load if it is
 * there. It uses the CUDA runtime on the device that is current, in its primary context. */
#ifndef LODE_BENCH_CUB_PEER_H
#define LODE_BENCH_CUB_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One call. Pointers are device addresses; those that the algorithm doesn't use may be null.
 *
 *   algorithm    types                 in → out
 *   reduce       all                   n → 1: the sum
 *   scan         all                   n → n: inclusive sums
 *   histogram    int32, float, int64   n → bins counts of 32 bits, of values in [0, bins), each bin
 *                                      1 wide
 *   sort_keys    int32, float, int64   n → n, ascending; in isn't changed
 *   sort_pairs   int32, float, int64   the same; in_values → out_values are of 32 bits
 *   select       int32, float, int64   n → count values above 0, in their order
 *   partition    int32, float, int64   n → n: the same, then the others in reverse order
 *
 * All types are int32, float, int64 and double. Integer sums wrap. select and partition write the
 * number of values above 0 to count, which is of 32 bits. */
struct lode_cub_call {
    const char* algorithm;
    const char* type;
    const void* in;
    void* out;
    const void* in_values;
    void* out_values;
    void* count;
    uint64_t n;
    int bins;
};

/* Enqueues the call on the stream, a CUstream. Without scratch it only sets *scratch_bytes, the size
 * that scratch needs. Returns a cudaError_t, or -1 for an algorithm or type that isn't there and for
 * more than 2^31 - 1 elements: CUB is faster with indices of 32 bits. */
int lode_cub_peer(const struct lode_cub_call* call, void* scratch, size_t* scratch_bytes,
                  void* stream);

/* CUB's version, CUB_VERSION: 300001 is 3.0.1. */
int lode_cub_version(void);

#ifdef __cplusplus
}
#endif

#endif
