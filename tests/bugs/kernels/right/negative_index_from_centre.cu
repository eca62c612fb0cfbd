//@ right: Negative indices count from the middle of an array and stay inside.
//@ class: bounds
//@ buffer: data i32[65] = i
//@ buffer: out i32[33] = none
//@ launch: mirror<<<1, 33>>>(data, out, 65)
//@ expect: out = data[32 - i] * 1000 + data[32 + i]

__global__ void mirror(const int* data, int* out, int n) {
    const int* centre = data + n / 2;
    int t = threadIdx.x;
    out[t] = centre[-t] * 1000 + centre[t];
}
