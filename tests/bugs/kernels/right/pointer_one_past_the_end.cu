//@ right: A pointer one past the end is made and compared, but never dereferenced.
//@ class: bounds
//@ buffer: data f32[100] = i
//@ buffer: out f32[4] = none
//@ launch: chunks<<<1, 4>>>(data, out, 100)
//@ expect: out = float(sum(data[25 * i:25 * i + 25]))

__global__ void chunks(const float* first, float* out, int n) {
    const float* const end = first + n;
    const float* from = first + threadIdx.x * n / 4;
    const float* to = from + n / 4;
    float sum = 0;
    for (const float* p = from; p != to && p < end; ++p) sum += *p;
    out[threadIdx.x] = sum;
}
