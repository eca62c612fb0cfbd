// Kernels that the debugger's tests stop in. The tests name lines by the words in their comments.
enum class Mode : int { slow, fast = 5 };
struct Base {
    int id;
};
struct Item : Base {
    unsigned low : 3, high : 5;
    Mode mode;
    double weights[2][3];
};

__constant__ float scale = 2.0f;
__device__ int counter = 40;
namespace ns {
__device__ float table[4] = {1, 2, 3, 4};
}

template <class T>
__device__ __noinline__ T twice(T value) {
    T sum = value + value;
    return sum;  // in twice
}

extern "C" __global__ void values(const float* in, float* out, int n) {
    __shared__ float tile[64];
    extern __shared__ int dynamic[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Item item;
    item.id = i;
    item.low = i;
    item.high = i + 1;
    item.mode = i == 3 ? Mode::fast : Mode::slow;
    item.weights[1][2] = i / 4.0;
    const bool is_odd = i % 2 != 0;
    tile[threadIdx.x] = i < n ? in[i] : 0.0f;
    dynamic[threadIdx.x] = -i;
    __syncthreads();
    if (is_odd) {
        counter = i;  // odd lanes
    }
    float value = twice(tile[threadIdx.x]) * scale;  // the call
    for (int k = 0; k < 3; ++k) {
        value += ns::table[k];  // the loop
    }
    if (i < n) out[i] = value + item.weights[1][2];  // the end
}

extern "C" __global__ void broken(int* out) {
    out[threadIdx.x + 1000000] = 1;  // the fault
}
