//@ right: A structure with padding is built, copied whole and compared by its members only.
//@ class: init
//@ buffer: out i32[32] = none
//@ launch: swap<<<1, 32>>>(out)
//@ expect: out = (31 - i) * 1000 + 31 - i

struct Entry {
    char tag;   // three bytes of padding follow
    int value;
    short next;  // and two more here
};

__global__ void swap(int* out) {
    __shared__ Entry a[32], b[32];
    int t = threadIdx.x;
    a[t].tag = t;
    a[t].value = 1000 * t;
    a[t].next = -1;
    __syncwarp();
    b[t] = a[31 - t];
    __syncwarp();
    Entry mine = b[t];
    out[t] = mine.value + mine.tag + mine.next + 1;
}
