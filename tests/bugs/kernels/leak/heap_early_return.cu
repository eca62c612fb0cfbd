//@ bug: The error path returns without freeing.
//@ class: leak
//@ buffer: in i32[32] = i - 4
//@ buffer: out i32[32] = 0
//@ launch: digits<<<1, 32>>>(in, out)

__global__ void digits(const int* in, int* out) {
    char* text = (char*)malloc(12);  // BUG
    int v = in[threadIdx.x];
    if (v < 0) {
        out[threadIdx.x] = -1;
        return;
    }
    int length = 0;
    do text[length++] = '0' + v % 10;
    while (v /= 10);
    out[threadIdx.x] = text[length - 1];
    free(text);
}
