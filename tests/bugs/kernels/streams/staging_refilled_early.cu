//@ bug: The pinned staging buffer is refilled while the upload of its first contents may still run.
//@ class: streams
//@ buffer: pinned stage u32[160] = 0
//@ buffer: data u32[320] = 0
//@ stream: generate
//@ stream: upload
//@ on: generate
//@ launch: random<<<1, 160>>>(stage, 1)
//@ record: first
//@ on: upload
//@ await: first
//@ copy: data = stage, 640
//@ on: generate
//@ launch: random<<<1, 160>>>(stage, 2)
//@ record: second
//@ on: upload
//@ await: second
//@ copy: data+640 = stage, 640

__global__ void random(unsigned* stage, unsigned seed) {
    unsigned x = 747796405u * (threadIdx.x + 1) + seed;
    x ^= x >> 15;
    stage[threadIdx.x] = 2246822519u * x;  // BUG
}
