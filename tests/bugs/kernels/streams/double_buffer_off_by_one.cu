//@ bug: The upload of frame k waits for the use of frame k - 3, but its slot held frame k - 2.
//@ class: streams
//@ buffer: pinned frames i32[512] = i
//@ buffer: slots i32[256] = 0
//@ buffer: sums i32[4] = 0
//@ stream: upload
//@ stream: compute
//@ on: upload
//@ copy: slots = frames, 512
//@ record: up0
//@ copy: slots+512 = frames+512, 512
//@ record: up1
//@ on: compute
//@ await: up0
//@ launch: sum<<<1, 128>>>(slots, sums)
//@ record: used0
//@ await: up1
//@ launch: sum<<<1, 128>>>(slots+512, sums+4)
//@ record: used1
//@ on: upload
//@ copy: slots = frames+1024, 512
//@ record: up2
//@ await: used0
//@ copy: slots+512 = frames+1536, 512
//@ record: up3
//@ on: compute
//@ await: up2
//@ launch: sum<<<1, 128>>>(slots, sums+8)
//@ await: up3
//@ launch: sum<<<1, 128>>>(slots+512, sums+12)

__global__ void sum(const int* slot, int* sum) {
    atomicAdd(sum, slot[threadIdx.x]);  // BUG
}
