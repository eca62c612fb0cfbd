//@ right: The programming guide's atomicAdd for double, which begins with a plain load.
//@ class: race
//@ buffer: data f64[256] = i
//@ buffer: sum f64[1] = 0
//@ launch: add<<<4, 64>>>(data, sum)
//@ expect: sum = 32640.0

__device__ double atomic_add(double* address, double value) {
    unsigned long long* word = (unsigned long long*)address;
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed,
                        __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

__global__ void add(const double* data, double* sum) {
    atomic_add(sum, data[blockIdx.x * blockDim.x + threadIdx.x]);
}
