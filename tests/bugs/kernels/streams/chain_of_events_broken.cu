//@ bug: The middle stream records its event before it waits for the first: it passes no order on.
//@ class: streams
//@ buffer: a i32[33] = i
//@ buffer: b i32[33] = 0
//@ buffer: c i32[33] = 0
//@ stream: head
//@ stream: middle
//@ stream: tail
//@ on: head
//@ launch: bump<<<1, 33>>>(a)
//@ record: head_done
//@ on: middle
//@ launch: bump<<<1, 33>>>(b)
//@ record: middle_done
//@ await: head_done
//@ on: tail
//@ await: middle_done
//@ launch: both<<<1, 33>>>(a, b, c)

__global__ void bump(int* data) {
    data[threadIdx.x] += 100;  // BUG
}

__global__ void both(const int* a, const int* b, int* c) {
    c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];  // BUG
}
