//@ right: Structures with padding move word by word from one buffer to another, and are then used.
//@ class: init
//@ buffer: a u32[64] = none
//@ buffer: b u32[64] = none
//@ buffer: out i32[32] = none
//@ launch: build<<<1, 32>>>(a)
//@ launch: copy_words<<<1, 64>>>(a, b)
//@ launch: use<<<1, 32>>>(b, out)
//@ holds: out == [3 * k + k % 5 for k in range(32)]

struct Item {
    int value;
    char kind;
};

__global__ void build(Item* items) {
    items[threadIdx.x].value = 3 * threadIdx.x;
    items[threadIdx.x].kind = threadIdx.x % 5;
}

__global__ void copy_words(const unsigned* from, unsigned* to) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void use(const Item* items, int* out) {
    out[threadIdx.x] = items[threadIdx.x].value + items[threadIdx.x].kind;
}
