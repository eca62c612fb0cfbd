//@ right: Neighbouring threads store neighbouring bytes of one word, which isn't a race.
//@ class: race
//@ buffer: out u8[128] = none
//@ launch: bytes<<<1, 128>>>(out)
//@ expect: out = 127 - i + 1

__global__ void bytes(unsigned char* out) {
    __shared__ unsigned char s[128];
    s[threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    out[threadIdx.x] = s[127 - threadIdx.x];
}
