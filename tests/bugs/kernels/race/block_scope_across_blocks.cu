//@ bug: Blocks share a counter but update it with atomics whose scope is one block.
//@ class: race
//@ buffer: counter i32[1] = 0
//@ launch: count<<<8, 64>>>(counter)

__global__ void count(int* counter) {
    atomicAdd_block(counter, 1);  // BUG
}
