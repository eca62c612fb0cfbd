//@ bug: The merging stream waits for one producer's event only, not for the other's.
//@ class: streams
//@ buffer: re f64[90] = 0
//@ buffer: im f64[90] = 0
//@ buffer: norm f64[90] = 0
//@ stream: left
//@ stream: right
//@ stream: merge
//@ on: left
//@ launch: real<<<3, 30>>>(re)
//@ record: left_done
//@ on: right
//@ launch: imaginary<<<3, 30>>>(im)
//@ record: right_done
//@ on: merge
//@ await: left_done
//@ launch: norms<<<1, 90>>>(re, im, norm)

__global__ void real(double* re) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    re[i] = i * 0.25;
}

__global__ void imaginary(double* im) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    im[i] = 1 - i * 0.125;  // BUG
}

__global__ void norms(const double* re, const double* im, double* norm) {
    int i = threadIdx.x;
    norm[i] = re[i] * re[i] + im[i] * im[i];  // BUG
}
