//@ right: A list's links are distances in bytes, and its nodes lie in two buffers.
//@ class: bounds
//@ buffer: first i64[8] = 0
//@ buffer: second i64[8] = 0
//@ buffer: out i64[1] = none
//@ launch: link<<<1, 1>>>(first, second)
//@ launch: walk<<<1, 1>>>(first, out)
//@ expect: out = 6

__global__ void link(long long* first, long long* second) {
    // A node is a link and a value.
    first[0] = (char*)second - (char*)first;
    first[1] = 1;
    second[0] = (char*)(first + 2) - (char*)second;
    second[1] = 2;
    first[2] = 0;
    first[3] = 3;
}

__global__ void walk(const long long* node, long long* out) {
    long long sum = 0;
    for (;;) {
        sum += node[1];
        if (node[0] == 0) break;
        node = (const long long*)((const char*)node + node[0]);
    }
    *out = sum;
}
