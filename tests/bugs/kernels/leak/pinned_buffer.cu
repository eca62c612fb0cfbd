//@ bug: The host never frees the page-locked memory that the kernel wrote.
//@ class: leak
//@ buffer: pinned report i32[64] = 0
//@ launch: number<<<1, 64>>>(report)
//@ leak: report

__global__ void number(int* report) {
    report[threadIdx.x] = threadIdx.x;
}
