//@ bug: The particles' mass is never set, and the next kernel uses it.
//@ class: init
//@ buffer: particles f32[256] = none
//@ buffer: energy f32[64] = 0
//@ launch: place<<<1, 64>>>(particles)
//@ launch: kinetic<<<1, 64>>>(particles, energy)

struct Particle {
    float x, y, speed, mass;
};

__global__ void place(Particle* p) {
    p[threadIdx.x].x = threadIdx.x;
    p[threadIdx.x].y = 0;
    p[threadIdx.x].speed = 1;
}

__global__ void kinetic(const Particle* p, float* energy) {
    const Particle& mine = p[threadIdx.x];
    energy[threadIdx.x] = 0.5f * mine.mass * mine.speed * mine.speed;  // BUG
}
