//@ right: The pinned staging buffer is refilled after the upload's event came back to the writer.
//@ class: streams
//@ buffer: pinned stage i32[120] = 0
//@ buffer: data i32[240] = 0
//@ stream: generate
//@ stream: upload
//@ on: generate
//@ launch: number<<<1, 120>>>(stage, 3)
//@ record: filled
//@ on: upload
//@ await: filled
//@ copy: data = stage, 480
//@ record: uploaded
//@ on: generate
//@ await: uploaded
//@ launch: number<<<1, 120>>>(stage, -4)
//@ record: filled
//@ on: upload
//@ await: filled
//@ copy: data+480 = stage, 480
//@ expect: data = 3 * i if i < 120 else -4 * (i - 120)

__global__ void number(int* stage, int factor) { stage[threadIdx.x] = factor * threadIdx.x; }
