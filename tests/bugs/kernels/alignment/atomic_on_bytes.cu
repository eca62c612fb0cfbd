//@ bug: A counter of 32 bits lives at byte 2 of a block of flags.
//@ class: alignment
//@ buffer: state u8[64] = 0
//@ launch: count<<<2, 32>>>(state)

__global__ void count(unsigned char* state) {
    unsigned* counter = (unsigned*)(state + 2);
    atomicAdd(counter, 1u);  // BUG
}
