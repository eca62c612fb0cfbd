//@ right: The same with cooperative groups' coalesced_threads().
//@ class: sync
//@ buffer: data i32[128] = i
//@ buffer: out i32[128] = -1
//@ buffer: length i32[1] = 0
//@ launch: keep<<<1, 128>>>(data, out, length)
//@ holds: length[0] == 32 and sorted(out[:32]) == list(range(0, 128, 4))

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void keep(const int* in, int* out, int* length) {
    int v = in[threadIdx.x];
    if ((v & 3) == 0) {
        auto active = cg::coalesced_threads();
        int at = 0;
        if (active.thread_rank() == 0) at = atomicAdd(length, active.size());
        at = active.shfl(at, 0);
        out[at + active.thread_rank()] = v;
    }
}
