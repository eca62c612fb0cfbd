//@ right: The kernel reads from an optional buffer, or from its default if that is null.
//@ class: bounds
//@ buffer: standard i32[32] = 5
//@ buffer: out i32[32] = none
//@ launch: copy<<<1, 32>>>(u64:0, standard, out)
//@ expect: out = 5

__global__ void copy(const int* given, const int* standard, int* out) {
    const int* from = given != nullptr ? given : standard;
    out[threadIdx.x] = from[threadIdx.x];
}
