//@ right: The event is recorded again elsewhere, after the call that waits for its first record.
//@ class: streams
//@ buffer: x f64[64] = i
//@ buffer: y f64[64] = 1
//@ buffer: out f64[64] = 0
//@ stream: one
//@ stream: two
//@ stream: three
//@ on: one
//@ launch: scale<<<1, 64>>>(x, 3.0)
//@ record: done
//@ on: two
//@ await: done
//@ on: three
//@ launch: scale<<<2, 32>>>(y, 0.25)
//@ record: done
//@ on: two
//@ launch: add<<<1, 64>>>(x, out)
//@ await: done
//@ launch: add<<<1, 64>>>(y, out)
//@ expect: out = 3.0 * i + 0.25

__global__ void scale(double* v, double factor) {
    v[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}

__global__ void add(const double* v, double* out) { out[threadIdx.x] += v[threadIdx.x]; }
