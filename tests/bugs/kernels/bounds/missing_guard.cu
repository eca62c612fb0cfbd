//@ bug: The grid is rounded up to whole blocks and the kernel has no guard for the rest.
//@ class: bounds
//@ buffer: image u8[1000] = i
//@ launch: invert<<<4, 256>>>(image)

__global__ void invert(unsigned char* image) {
    const unsigned pixel = blockIdx.x * blockDim.x + threadIdx.x;
    image[pixel] = 255 - image[pixel];  // BUG
}
