//@ right: Branches of a graph write adjacent parts; an event after the launch orders the reader.
//@ class: streams
//@ buffer: data u16[250] = i
//@ buffer: sums u32[2] = 0
//@ stream: main
//@ stream: side
//@ stream: reader
//@ on: main
//@ capture: begin
//@ launch: add<<<1, 250>>>(data, 1)
//@ record: fork
//@ on: side
//@ await: fork
//@ launch: add<<<1, 125>>>(data+250, 20)
//@ record: join
//@ on: main
//@ launch: add<<<5, 25>>>(data, 10)
//@ await: join
//@ launch: sum<<<1, 1>>>(data, sums)
//@ replay: launch
//@ record: launched
//@ on: reader
//@ await: launched
//@ launch: add<<<1, 1>>>(data, 5)
//@ launch: sum<<<1, 1>>>(data, sums+4)
//@ expect: sums = sum(data) + 250 + 1250 + 2500 + 5 * i

__global__ void add(unsigned short* part, int value) {
    part[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void sum(const unsigned short* data, unsigned* sum) {
    for (int i = 0; i < 250; ++i) *sum += data[i];
}
