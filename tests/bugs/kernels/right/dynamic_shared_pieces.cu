//@ right: Dynamic shared memory is carved into doubles, ints and bytes, the largest type first.
//@ class: alignment
//@ buffer: data i32[48] = i * 7 % 48
//@ buffer: out f64[48] = none
//@ launch: pieces<<<1, 48, 624>>>(data, out, 48)
//@ expect: out = float(0.25 * (data[i] * 7 % 48) + data[i] + i % 3)

__global__ void pieces(const int* in, double* out, int n) {
    extern __shared__ double doubles[];
    int* ints = reinterpret_cast<int*>(doubles + n);
    unsigned char* bytes = reinterpret_cast<unsigned char*>(ints + n);
    int t = threadIdx.x;
    doubles[t] = 0.25 * in[t];
    ints[t] = in[t];
    bytes[t] = t % 3;
    __syncthreads();
    out[t] = doubles[ints[t]] + ints[t] + bytes[t];
}
