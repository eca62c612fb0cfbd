//@ bug: The whole block's group synchronises in code that only some of its threads execute.
//@ class: sync
//@ buffer: data i32[64] = i
//@ launch: partial<<<1, 64>>>(data)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void partial(int* data) {
    cg::thread_block block = cg::this_thread_block();
    int v = data[block.thread_rank()];
    if (v > 20) {
        block.sync();  // BUG
        data[block.thread_rank()] = -v;
    }
    block.sync();  // BUG
    if (v < 3) data[v] += data[63 - v];  // BUG
}
