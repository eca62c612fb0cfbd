//@ bug: The fill of the padding rows starts one row early, beside the kernel that draws that row.
//@ class: streams
//@ buffer: image u8[1540] = 255
//@ stream: clear
//@ stream: draw
//@ on: draw
//@ launch: gradient<<<20, 67>>>(image, 70)
//@ on: clear
//@ fill: image+1330 = 0, 210

// 20 rows of 67 pixels, 70 bytes apart; two rows of padding follow them.
__global__ void gradient(unsigned char* image, int pitch) {
    image[blockIdx.x * pitch + threadIdx.x] = 3 * threadIdx.x + blockIdx.x;  // BUG
}
