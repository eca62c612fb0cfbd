//@ right: The host waits for an event and then launches in another stream; later work is elsewhere.
//@ class: streams
//@ buffer: a i64[70] = i
//@ buffer: b i64[70] = 2 * i
//@ buffer: out i64[70] = 0
//@ stream: one
//@ stream: two
//@ on: one
//@ launch: square<<<1, 70>>>(a)
//@ record: squared
//@ launch: square<<<7, 10>>>(b)
//@ sync: squared
//@ on: two
//@ launch: minus<<<2, 35>>>(a, out)
//@ sync: one
//@ launch: minus<<<2, 35>>>(b, out)
//@ expect: out = -5 * i * i

__global__ void square(long long* v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    v[i] *= v[i];
}

__global__ void minus(const long long* v, long long* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] -= v[i];
}
