//@ right: The last stream waits for the middle one alone, which has waited for the first.
//@ class: streams
//@ buffer: a f32[150] = i
//@ buffer: out f32[150] = 0
//@ stream: head
//@ stream: middle
//@ stream: tail
//@ on: head
//@ launch: add<<<3, 50>>>(a, 0.5f)
//@ record: head_done
//@ on: middle
//@ await: head_done
//@ record: middle_done
//@ on: tail
//@ await: middle_done
//@ launch: twice<<<1, 150>>>(a, out)
//@ record: tail_done
//@ on: head
//@ await: tail_done
//@ launch: add<<<3, 50>>>(a, 1.0f)
//@ expect: a = float(i) + 1.5
//@ expect: out = 2.0 * i + 1

__global__ void add(float* a, float value) { a[blockIdx.x * blockDim.x + threadIdx.x] += value; }

__global__ void twice(const float* a, float* out) { out[threadIdx.x] = 2 * a[threadIdx.x]; }
