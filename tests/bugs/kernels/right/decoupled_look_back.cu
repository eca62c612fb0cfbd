//@ right: A single-pass scan: blocks publish sums with status words and look back at their left.
//@ class: race
//@ buffer: data i32[512] = i % 9
//@ buffer: ticket u32[1] = 0
//@ buffer: state u64[8] = 0
//@ buffer: out i32[512] = none
//@ launch: scan<<<8, 64>>>(data, out, state, ticket)
//@ expect: out = sum(data[:i + 1])

// A status word holds 0 nothing, 1 the block's sum, 2 the inclusive prefix; and the value above.
__global__ void scan(const int* in, int* out, unsigned long long* state, unsigned* ticket) {
    __shared__ unsigned block;
    __shared__ int s[64];
    __shared__ int before;
    const int t = threadIdx.x;
    if (t == 0) block = atomicAdd(ticket, 1u);
    __syncthreads();
    const int i = block * 64 + t;
    s[t] = in[i];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        volatile unsigned long long* words = state;
        int sum = s[63], prefix = 0;
        if (block > 0) words[block] = 1ull | (unsigned long long)(unsigned)sum << 32;
        for (int b = (int)block - 1; b >= 0; --b) {
            unsigned long long w;
            do w = words[b];
            while (w == 0);
            prefix += (int)(w >> 32);
            if ((w & 3) == 2) break;
        }
        words[block] = 2ull | (unsigned long long)(unsigned)(prefix + sum) << 32;
        before = prefix;
    }
    __syncthreads();
    out[i] = before + s[t];
}
