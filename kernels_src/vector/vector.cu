// z = a·x + y, one element per thread.
extern "C" __global__ void __launch_bounds__(256)
    axpy_scalar(float a, const float* __restrict__ x, const float* __restrict__ y,
                float* __restrict__ z, unsigned long long n) {
    const unsigned long long i = blockIdx.x * 256ULL + threadIdx.x;
    if (i < n) z[i] = fmaf(a, x[i], y[i]);
}

// The same with 16-byte accesses, four elements per thread; element by element where an address
// isn't a multiple of 16.
extern "C" __global__ void __launch_bounds__(256)
    axpy_vec16(float a, const float* __restrict__ x, const float* __restrict__ y,
               float* __restrict__ z, unsigned long long n) {
    const unsigned long long first = (blockIdx.x * 256ULL + threadIdx.x) * 4;
    const auto addresses = reinterpret_cast<unsigned long long>(x) |
                           reinterpret_cast<unsigned long long>(y) |
                           reinterpret_cast<unsigned long long>(z);
    if (first + 4 <= n && addresses % 16 == 0) {
        const float4 u = *reinterpret_cast<const float4*>(x + first);
        const float4 v = *reinterpret_cast<const float4*>(y + first);
        *reinterpret_cast<float4*>(z + first) =
            make_float4(fmaf(a, u.x, v.x), fmaf(a, u.y, v.y), fmaf(a, u.z, v.z), fmaf(a, u.w, v.w));
        return;
    }
    for (unsigned long long i = first; i < n && i < first + 4; ++i)
        z[i] = fmaf(a, x[i], y[i]);
}
