//@ right: The same with PTX: st.release.gpu and ld.acquire.gpu.
//@ class: race
//@ buffer: message i32[1] = 0
//@ buffer: flag u32[1] = 0
//@ buffer: out i32[1] = none
//@ launch: pass<<<2, 1>>>(message, flag, out)
//@ expect: out = 77

__global__ void pass(int* message, unsigned* flag, int* out) {
    if (blockIdx.x == 0) {
        *message = 77;
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        unsigned seen;
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        while (seen == 0);
        *out = *message;
    }
}
