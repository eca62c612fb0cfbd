//@ bug: The host passes a pointer to doubles that it moved by four bytes.
//@ class: alignment
//@ buffer: data f64[33] = i
//@ launch: scale<<<1, 32>>>(data+4, 2.0)

__global__ void scale(double* data, double factor) {
    data[threadIdx.x] *= factor;  // BUG
}
