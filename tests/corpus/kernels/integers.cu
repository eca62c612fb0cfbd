// NVRTC 12.0 to 12.2 declares these and defines them nowhere.
#if __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 3
#define DOT(name, opcode, type, constraint)                              \
    __device__ type name(type a, type b, type c) {                       \
        type d;                                                          \
        asm(opcode " %0, %1, %2, %3;"                                    \
            : "=" constraint(d)                                          \
            : constraint(a), constraint(b), constraint(c));              \
        return d;                                                        \
    }
DOT(dot4, "dp4a.s32.s32", int, "r")
DOT(dot4, "dp4a.u32.u32", unsigned, "r")
DOT(dot2_low, "dp2a.lo.s32.s32", int, "r")
DOT(dot2_high, "dp2a.hi.s32.s32", int, "r")
#define __dp4a dot4
#define __dp2a_lo dot2_low
#define __dp2a_hi dot2_high
#endif

extern "C" __global__ void divisions(const int* a, const int* b, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i];
    long long wx = (long long)x * 1000003, wy = y;
    long long* o = out + i * 8;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = (unsigned)x / (unsigned)y;
    o[3] = (unsigned)x % (unsigned)y;
    o[4] = wx / wy;
    o[5] = wx % wy;
    o[6] = (unsigned long long)wx / (unsigned long long)(wy | 1);
    o[7] = x / 10 + x % 7;
}
extern "C" __global__ void wide_arithmetic(const unsigned long long* a, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 x = (unsigned __int128)a[i] * a[(i + 1) % n] + a[(i + 2) % n];
    unsigned __int128 q = x / (a[(i + 3) % n] | 1), d = x - q;
    out[4 * i] = (unsigned long long)x;
    out[4 * i + 1] = (unsigned long long)(x >> 64);
    out[4 * i + 2] = (unsigned long long)q;
    out[4 * i + 3] = (unsigned long long)(d >> 64) ^ (unsigned long long)d;
}
extern "C" __global__ void bits(const unsigned* a, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = a[(i + 1) % n];
    unsigned* o = out + i * 12;
    o[0] = __popc(x);
    o[1] = __clz(x);
    o[2] = __ffs(x);
    o[3] = __brev(x);
    o[4] = __byte_perm(x, y, 0x2746);
    o[5] = __funnelshift_l(x, y, x & 63);
    o[6] = __funnelshift_r(x, y, y & 63);
    o[7] = __umulhi(x, y);
    o[8] = __usad(x, y, 5);
    o[9] = __popcll(((unsigned long long)x << 32) | y) + __clzll((unsigned long long)y << 7);
    o[10] = (x << (y & 31)) ^ (x >> (y & 31)) ^ (unsigned)((int)x >> (y & 31));
    o[11] = (x & y) ^ (~x | y) ^ (x ^ y);
}
extern "C" __global__ void dots(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = a[(i + 1) % n];
    out[4 * i] = __dp4a(x, y, 7);
    out[4 * i + 1] = __dp4a((unsigned)x, (unsigned)y, 7u);
    out[4 * i + 2] = __dp2a_lo(x, y, 7) + __dp2a_hi(x, y, 7);
    out[4 * i + 3] = __vabsdiffu4(x, y) + __vsadu4(x, y);
}
extern "C" __global__ void crc32(const unsigned char* in, unsigned* out, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned crc = ~0u;
    for (int k = 0; k < length; ++k) {
        crc ^= in[i * length + k];
        for (int b = 0; b < 8; ++b) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
    }
    out[i] = ~crc;
}
