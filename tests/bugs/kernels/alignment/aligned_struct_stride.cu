//@ bug: A structure declared with 16-byte alignment is read from records 20 bytes apart.
//@ class: alignment
//@ buffer: records u8[640] = i
//@ buffer: out f32[32] = 0
//@ launch: lengths<<<1, 32>>>(records, out)

struct alignas(16) Vector {
    float x, y, z, w;
};

__global__ void lengths(const unsigned char* records, float* out) {
    const Vector v = *reinterpret_cast<const Vector*>(records + 20 * threadIdx.x);  // BUG
    out[threadIdx.x] = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
}
