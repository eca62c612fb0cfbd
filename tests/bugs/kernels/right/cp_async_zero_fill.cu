//@ right: The tail is copied with a source size of fewer bytes; the rest of 16 bytes becomes zero.
//@ class: bounds
//@ buffer: data f32[126] = i + 1
//@ buffer: out f32[128] = none
//@ launch: stage<<<1, 32>>>(data, out, 126)
//@ expect: out = float(data[i]) if i < 126 else 0.0

__global__ void stage(const float* src, float* out, int n) {
    __shared__ alignas(16) float tile[128];
    int first = 4 * threadIdx.x;
    int bytes = min(16, max(0, (n - first) * 4));
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + first);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(src + first),
                 "r"(bytes) : "memory");
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncwarp();
    for (int k = 0; k < 4; ++k) out[threadIdx.x + 32 * k] = tile[threadIdx.x + 32 * k];
}
