//@ bug: The list's last node points back into the list, so the walk has no end.
//@ class: hang
//@ buffer: next i32[16] = (i + 1) if i < 15 else 4
//@ buffer: value i32[16] = i
//@ buffer: out i32[1] = 0
//@ launch: total<<<1, 1>>>(next, value, out)

__global__ void total(const int* next, const int* value, int* out) {
    int sum = 0;
    for (int node = 0; node >= 0; node = next[node])  // BUG
        sum += value[node];  // BUG
    *out = sum;
}
