//@ bug: The second round waits for the counter's reset, but the reset doesn't wait for the first.
//@ class: streams
//@ buffer: in i32[384] = 11 * i
//@ buffer: list i32[768] = 0
//@ buffer: length i32[1] = 0
//@ stream: work
//@ stream: reset
//@ on: work
//@ launch: keep_odd<<<3, 128>>>(in, list, length)
//@ on: reset
//@ fill: length = 0, 4
//@ record: cleared
//@ on: work
//@ await: cleared
//@ launch: keep_odd<<<3, 128>>>(in, list+1536, length)

__global__ void keep_odd(const int* in, int* list, int* length) {
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (v & 1) list[atomicAdd(length, 1)] = v;  // BUG
}
