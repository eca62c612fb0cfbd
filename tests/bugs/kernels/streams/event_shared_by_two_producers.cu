//@ bug: Both producers record the same event, so that the consumer waits for the second alone.
//@ class: streams
//@ buffer: out i64[200] = 0
//@ buffer: sum i64[1] = 0
//@ stream: low
//@ stream: high
//@ stream: main
//@ on: low
//@ launch: fibonacci<<<1, 100>>>(out)
//@ record: done
//@ on: high
//@ launch: squares<<<1, 100>>>(out+800)
//@ record: done
//@ on: main
//@ await: done
//@ launch: total<<<1, 1>>>(out, sum)

__global__ void fibonacci(long long* out) {
    long long a = 0, b = 1;
    for (int k = 0; k < threadIdx.x % 80; ++k) {
        long long c = a + b;
        a = b;
        b = c;
    }
    out[threadIdx.x] = a;  // BUG
}

__global__ void squares(long long* out) {
    out[threadIdx.x] = (long long)threadIdx.x * threadIdx.x;
}

__global__ void total(const long long* out, long long* sum) {
    for (int i = 0; i < 200; ++i) *sum += out[i];  // BUG
}
