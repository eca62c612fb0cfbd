//@ bug: The walk tests for the sentinel -1 after using it as an index.
//@ class: bounds
//@ buffer: next i32[16] = i + 1 if i < 15 else -1
//@ buffer: value i32[16] = 1
//@ buffer: out i32[1] = 0
//@ launch: total<<<1, 1>>>(next, value, out)

__global__ void total(const int* next, const int* value, int* out) {
    int sum = 0, node = 0;
    do {
        sum += value[node];
        node = next[node];
    } while (next[node] != 0 && sum < 100);  // BUG
    *out = sum;
}
