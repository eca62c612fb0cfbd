//@ right: Workers use stream-ordered memory between a fork and a join; its stream then frees it.
//@ class: streams
//@ buffer: out i32[192] = 0
//@ buffer: sum i32[1] = 0
//@ stream: main
//@ stream: w0
//@ stream: w1
//@ on: main
//@ allocate: scratch i32[192]
//@ record: fork
//@ on: w0
//@ await: fork
//@ launch: number<<<3, 32>>>(scratch, 1)
//@ record: join0
//@ on: w1
//@ await: fork
//@ launch: number<<<1, 96>>>(scratch+384, 1000)
//@ record: join1
//@ on: main
//@ await: join0
//@ await: join1
//@ copy: out = scratch, 768
//@ free: scratch
//@ allocate: again i32[192]
//@ launch: number<<<6, 32>>>(again, 5)
//@ launch: add<<<6, 32>>>(again, sum)
//@ free: again
//@ expect: out = 1 + i if i < 96 else 1000 + i - 96
//@ expect: sum = 192 * 5 + 191 * 96

__global__ void number(int* part, int first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[i] = first + i;
}

__global__ void add(const int* part, int* sum) {
    atomicAdd(sum, part[blockIdx.x * blockDim.x + threadIdx.x]);
}
