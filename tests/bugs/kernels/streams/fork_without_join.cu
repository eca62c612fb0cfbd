//@ bug: Three workers wait for the fork, but the main stream copies their results without a join.
//@ class: streams
//@ buffer: in u8[300] = i
//@ buffer: lut u8[256] = none
//@ buffer: pinned out u8[300] = 0
//@ buffer: result u8[300] = 0
//@ stream: main
//@ stream: w0
//@ stream: w1
//@ stream: w2
//@ on: main
//@ launch: invert<<<1, 256>>>(lut)
//@ record: fork
//@ on: w0
//@ await: fork
//@ launch: apply<<<1, 100>>>(lut, in, result)
//@ on: w1
//@ await: fork
//@ launch: apply<<<1, 100>>>(lut, in+100, result+100)
//@ on: w2
//@ await: fork
//@ launch: apply<<<1, 100>>>(lut, in+200, result+200)
//@ on: main
//@ copy: out = result, 300

__global__ void invert(unsigned char* lut) { lut[threadIdx.x] = 255 - threadIdx.x; }

__global__ void apply(const unsigned char* lut, const unsigned char* in, unsigned char* out) {
    out[threadIdx.x] = lut[in[threadIdx.x]];  // BUG
}
