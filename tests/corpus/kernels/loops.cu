// Threads that diverge: escape times and Collatz lengths.
extern "C" __global__ void mandelbrot(int* out, int width, int height, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float cr = -2.0f + 3.0f * x / width, ci = -1.5f + 3.0f * y / height;
    float zr = 0, zi = 0;
    int k = 0;
    for (; k < limit && zr * zr + zi * zi < 4.0f; ++k) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
    }
    out[y * width + x] = k;
}
extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = start[i];
    unsigned k = 0;
    while (v != 1) {
        v = v % 2 == 0 ? v / 2 : 3 * v + 1;
        ++k;
    }
    steps[i] = k;
}
extern "C" __global__ void early_exits(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i], r = 0;
    for (int k = 0; k < 40; ++k) {
        if (v % 7 == 3) break;
        if (v % 5 == 1) {
            v += 3;
            continue;
        }
        switch (v & 3) {
            case 0: r += v; break;
            case 1: r ^= v; break;
            case 2: r -= 5; return;
            default: v = v / 2 + 1; break;
        }
        v = (v * 13 + 7) & 1023;
    }
    out[i] = r;
}
