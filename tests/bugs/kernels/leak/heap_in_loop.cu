//@ bug: A temporary is allocated in each iteration, and only the last one is freed.
//@ class: leak
//@ buffer: out i32[1] = 0
//@ launch: iterate<<<1, 1>>>(out, 6)

__global__ void iterate(int* out, int rounds) {
    int* tmp = nullptr;
    for (int k = 0; k < rounds; ++k) {
        tmp = new int(k);  // BUG
        *out += *tmp;
    }
    delete tmp;
}
