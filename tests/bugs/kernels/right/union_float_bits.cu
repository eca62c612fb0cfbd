//@ right: A union gives a float's bits, and one of its bytes decides; all of them are written.
//@ class: init
//@ buffer: data f32[64] = i - 32
//@ buffer: out i32[64] = none
//@ launch: signs<<<1, 64>>>(data, out)
//@ expect: out = 1 if data[i] < 0 else 0

union Bits {
    float value;
    unsigned char byte[4];
};

__global__ void signs(const float* in, int* out) {
    Bits b[2];
    b[threadIdx.x & 1].value = in[threadIdx.x];
    out[threadIdx.x] = b[threadIdx.x & 1].byte[3] >> 7;
}
