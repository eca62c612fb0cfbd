//@ bug: A float counts up in steps of a tenth and is compared for equality with one.
//@ class: hang
//@ buffer: out i32[1] = 0
//@ launch: steps<<<1, 1>>>(out, 0.1f)

__global__ void steps(int* out, float step) {
    int count = 0;
    for (float x = 0; x != 1.0f; x += step) {  // BUG
        ++count;
        atomicAdd(out, 1);  // BUG
    }
    *out = count;
}
