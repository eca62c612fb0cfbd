// Occupies a block for a while, so that a launch of many blocks fills the device.
extern "C" __global__ void spin(unsigned* x, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = i;
    for (int round = 0; round < rounds; ++round)
        value = value * 1664525U + 1013904223U;
    x[i] = value;
}
