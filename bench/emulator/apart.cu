// Lanes that access elements apart from each other, where the race check looks at each of them.
struct Particle {
    float mass;
    int kind;
    double charge;
};

extern "C" __global__ void copy_structures(const Particle* from, Particle* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

// n is a power of two.
extern "C" __global__ void scatter(const float* from, float* to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i * 17 & (n - 1)] = from[i];
}
