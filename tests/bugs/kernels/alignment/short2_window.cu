//@ bug: A sliding window of 16-bit samples is read two at a time from odd positions too.
//@ class: alignment
//@ buffer: samples i16[130] = i
//@ buffer: sums i32[128] = 0
//@ launch: pair_sums<<<1, 128>>>(samples, sums)

__global__ void pair_sums(const short* samples, int* sums) {
    int i = threadIdx.x;
    short2 pair = *(const short2*)&samples[i];  // BUG
    sums[i] = pair.x + pair.y;
}
