//@ bug: A structure in shared memory is copied whole, and its unset member decides a branch.
//@ class: init
//@ buffer: out i32[32] = 0
//@ launch: jobs<<<1, 32>>>(out)

struct Job {
    int first, last;
    int step;
    int pad;
};

__global__ void jobs(int* out) {
    __shared__ Job queue[32];
    Job& slot = queue[threadIdx.x];
    slot.first = 0;
    slot.last = threadIdx.x;
    __syncwarp();
    int sum = 0;
    Job job = queue[31 - threadIdx.x];  // BUG
    if (job.step > 1) sum = 1000;  // BUG
    for (int k = job.first; k < job.last; ++k) sum += k;
    out[threadIdx.x] = sum;
}
