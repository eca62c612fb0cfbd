//@ right: A small stack machine on a local array, whose pointer never leaves the array.
//@ class: bounds
//@ buffer: code u8[9] = [2, 3, 250, 4, 5, 250, 251, 7, 250][i]
//@ buffer: out i32[32] = none
//@ launch: evaluate<<<1, 32>>>(code, out, 9)
//@ expect: out = (5 + i) * (9 + i) + 7 + i

// 250 adds, 251 multiplies, and everything else is a number; the first and later ones get an offset.
__global__ void evaluate(const unsigned char* code, int* out, int length) {
    int stack[4], top = 0, numbers = 0;
    for (int pc = 0; pc < length; ++pc) {
        int op = code[pc];
        if (op == 250) { --top; stack[top - 1] += stack[top]; }
        else if (op == 251) { --top; stack[top - 1] *= stack[top]; }
        else stack[top++] = op + (numbers++ % 2 == 0 ? threadIdx.x : 0);
    }
    out[threadIdx.x] = stack[0];
}
