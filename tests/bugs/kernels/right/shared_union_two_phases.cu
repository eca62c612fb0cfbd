//@ right: A union in shared memory holds ints in the first phase and floats in the second.
//@ class: init
//@ buffer: data i32[64] = i
//@ buffer: out f32[32] = none
//@ launch: phases<<<1, 64>>>(data, out)
//@ expect: out = 63.0

union Scratch {
    int count[64];
    float average[32];
};

__global__ void phases(const int* in, float* out) {
    __shared__ Scratch s;
    int t = threadIdx.x;
    s.count[t] = in[t];
    __syncthreads();
    float mine = t < 32 ? (s.count[2 * t] + s.count[2 * t + 1]) * 0.5f : 0;
    __syncthreads();
    if (t < 32) s.average[t] = mine;
    __syncwarp();
    if (t < 32) out[t] = s.average[t] + s.average[31 - t];
}
