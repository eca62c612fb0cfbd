//@ bug: In the second round the wait comes before the event is recorded again.
//@ class: streams
//@ buffer: table i32[256] = none
//@ buffer: in i32[1024] = 37 * i
//@ buffer: out i32[1024] = 0
//@ stream: build
//@ stream: look
//@ on: build
//@ launch: make_table<<<1, 256>>>(table, 1)
//@ record: built
//@ on: look
//@ await: built
//@ launch: look_up<<<8, 128>>>(table, in, out)
//@ record: looked
//@ await: built
//@ on: build
//@ await: looked
//@ launch: make_table<<<1, 256>>>(table, 2)
//@ record: built
//@ on: look
//@ launch: look_up<<<8, 128>>>(table, in, out)

__global__ void make_table(int* table, int round) {
    table[threadIdx.x] = round * __popc(threadIdx.x);  // BUG
}

__global__ void look_up(const int* table, const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] += table[in[i] & 255];  // BUG
}
