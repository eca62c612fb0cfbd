//@ bug: A 64-bit compare-and-swap works on every pair of an int array, also on odd ones.
//@ class: alignment
//@ buffer: pairs i32[66] = 0
//@ launch: claim<<<1, 64>>>(pairs)

__global__ void claim(int* pairs) {
    auto* slot = reinterpret_cast<unsigned long long*>(pairs + threadIdx.x);
    atomicCAS(slot, 0ull, 1ull + threadIdx.x);  // BUG
}
