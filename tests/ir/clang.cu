// CUDA C++ for clang, whose LLVM IR the tests compile: without the toolkit's headers.
extern "C" __attribute__((global)) void scale(float* x, float a, int n) {
    const int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
                  __nvvm_read_ptx_sreg_tid_x();
    if (i < n) x[i] *= a;
}
