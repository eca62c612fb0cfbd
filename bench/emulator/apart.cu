// Lanes that access elements apart from each other, arrays that a kernel reads and writes, and small
// elements: where the race check has most to look at. n is a power of two.
struct Particle {
    float mass;
    int kind;
    double charge;
};

struct Vector {
    float x, y, z;
};

__device__ int own_index() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

extern "C" __global__ void copy_structures(const Particle* from, Particle* to, int n) {
    const int i = own_index();
    if (i < n) to[i] = from[i];
}

extern "C" __global__ void scatter(const float* from, float* to, int n) {
    const int i = own_index();
    if (i < n) to[i * 17 & (n - 1)] = from[i];
}

extern "C" __global__ void scatter_doubles(const double* from, double* to, int n) {
    const int i = own_index();
    if (i < n / 2) to[i * 17 & (n / 2 - 1)] = from[i];
}

// Writes a matrix with rows of 1,024 elements column by column.
extern "C" __global__ void columns(const float* from, float* to, int n) {
    const int i = own_index();
    if (i < n) to[(i & 1023) * (n / 1024) + i / 1024] = from[i];
}

extern "C" __global__ void count_global(const float*, unsigned* to, int n) {
    const int i = own_index();
    if (i < n) atomicAdd(to + (i * 17 & (n - 1)), 1u);
}

extern "C" __global__ void shift(const float* from, float* to, int n) {
    const int i = own_index();
    if (i < n - 1) to[i + 1] = from[i];
}

extern "C" __global__ void reverse(const float* from, float* to, int n) {
    const int i = own_index();
    if (i < n) to[n - 1 - i] = from[i];
}

extern "C" __global__ void move_vectors(Vector* at, float step, int n) {
    const int i = own_index();
    if (i >= n) return;
    at[i].x += step;
    at[i].y += step;
    at[i].z -= step;
}

extern "C" __global__ void gather_own(float* x, int n) {
    const int i = own_index();
    if (i < n / 2) x[i] = x[n / 2 + (i * 17 & (n / 2 - 1))];
}

extern "C" __global__ void add_own(float* x, int n) {
    const int i = own_index();
    if (i < n) x[i] += 1;
}

extern "C" __global__ void reverse_shared(float* x, int n) {
    __shared__ float s[256];
    const int i = own_index();
    s[threadIdx.x] = x[i];
    __syncthreads();
    x[i] = s[255 - threadIdx.x];
}

extern "C" __global__ void copy_bytes(const unsigned char* from, unsigned char* to, int n) {
    const int i = own_index();
    if (i < n) to[i] = from[i];
}

extern "C" __global__ void copy_halves(const unsigned short* from, unsigned short* to, int n) {
    const int i = own_index();
    if (i < n) to[i] = from[i];
}

extern "C" __global__ void add_halves(unsigned short* x, int n) {
    const int i = own_index();
    if (i < n) x[i] += 1;
}

extern "C" __global__ void scatter_bytes(const unsigned char* from, unsigned char* to, int n) {
    const int i = own_index();
    if (i < n) to[i * 17 & (n - 1)] = from[i];
}

extern "C" __global__ void scatter_halves(const unsigned short* from, unsigned short* to, int n) {
    const int i = own_index();
    if (i < n) to[i * 17 & (n - 1)] = from[i];
}

extern "C" __global__ void bytes_shared(unsigned char* x, int n) {
    __shared__ unsigned char s[256];
    const int i = own_index();
    s[threadIdx.x] = x[i];
    __syncthreads();
    x[i] = s[threadIdx.x * 5 & 255];
}
