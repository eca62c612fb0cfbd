//@ right: Kernels of two streams count in one word, by atomics.
//@ class: streams
//@ buffer: sum i32[1] = 0
//@ stream: a
//@ stream: b
//@ on: a
//@ launch: count<<<4, 64>>>(sum)
//@ on: b
//@ launch: count<<<2, 64>>>(sum)
//@ expect: sum = 384

__global__ void count(int* sum) {
    atomicAdd(sum, 1);
}
