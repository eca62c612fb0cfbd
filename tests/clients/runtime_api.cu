// A program for the runtime API, built by nvcc: kernels, variables,
// memory of every kind, arrays and textures, graphs, cooperative grids, errors, CUB and Thrust.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

int wrong = 0;

void check(bool is_right, const char* what, int line) {
    if (is_right) return;
    ++wrong;
    std::printf("line %d: %s\n", line, what);
}
void check(cudaError_t error, const char* what, int line) {
    if (error == cudaSuccess) return;
    ++wrong;
    std::printf("line %d: %s: %s\n", line, what, cudaGetErrorName(error));
}
#define CHECK(what) check(what, #what, __LINE__)

constexpr int count = 1000;
constexpr int width = 16;
constexpr int height = 8;

__device__ int counter;
__constant__ float coefficients[8];
__managed__ int managed[4] = {1, 2, 3, 4};

__global__ void add(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
template <class T>
__global__ void fill(T* values, T value) {
    values[threadIdx.x] = value;
}
__global__ void use_variables(float* out) {
    atomicAdd(&counter, 1);
    out[threadIdx.x] = coefficients[threadIdx.x];
    managed[threadIdx.x % 4] = threadIdx.x % 4;
}
__global__ void read_texture(cudaTextureObject_t texture, float* out) {
    out[blockIdx.x * width + threadIdx.x] =
        tex2D<float>(texture, threadIdx.x + 0.5F, blockIdx.x + 0.5F);
}
__global__ void write_surface(cudaSurfaceObject_t surface) {
    surf2Dwrite(7.0F + threadIdx.x, surface, threadIdx.x * 4, blockIdx.x);
}
__global__ void sum_of_grid(int* values) {
    const auto grid = cooperative_groups::this_grid();
    values[grid.thread_rank()] = 1;
    grid.sync();
    if (grid.thread_rank() != 0) return;
    int sum = 0;
    for (int i = 0; i < static_cast<int>(grid.size()); ++i)
        sum += values[i];
    values[0] = sum;
}
__global__ void use_large_shared(int* out) {
    extern __shared__ int dynamic[];
    dynamic[20000 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = dynamic[20000 + 31 - threadIdx.x];
}

struct Vectors {
    Vectors() {
        std::iota(values.begin(), values.end(), 0.0F);
        for (float** memory : {&a, &b, &c})
            CHECK(cudaMalloc(memory, count * sizeof(float)));
        CHECK(cudaMemcpy(a, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(b, values.data(), count * sizeof(float), cudaMemcpyDefault));
    }
    ~Vectors() {
        for (float* memory : {a, b, c})
            CHECK(cudaFree(memory));
    }
    bool is_sum() {
        std::vector<float> sum(count);
        CHECK(cudaMemcpy(sum.data(), c, count * sizeof(float), cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(c, 0, count * sizeof(float)));
        CHECK(cudaDeviceSynchronize());  // A fill isn't waited for, and other streams use `c`.
        for (int i = 0; i < count; ++i)
            if (sum[i] != 2 * i) return false;
        return true;
    }
    std::vector<float> values = std::vector<float>(count);
    float *a = nullptr, *b = nullptr, *c = nullptr;
};

void launches() {
    Vectors v;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start, stream));
    add<<<4, 256, 0, stream>>>(v.a, v.b, v.c, count);
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0);
    CHECK(v.is_sum());

    cudaLaunchConfig_t config{};
    config.gridDim = 4;
    config.blockDim = 256;
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, add, (const float*)v.a, (const float*)v.b, v.c, count));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(v.is_sum());

    int* values;
    CHECK(cudaMalloc(&values, 1024 * sizeof(int)));
    void* arguments[] = {&values};
    CHECK(cudaLaunchCooperativeKernel((void*)sum_of_grid, dim3(4), dim3(64), arguments, 0, stream));
    CHECK(cudaStreamSynchronize(stream));
    int sum = 0;
    CHECK(cudaMemcpy(&sum, values, sizeof(sum), cudaMemcpyDeviceToHost));
    CHECK(sum == 256);
    use_large_shared<<<1, 32, 90000>>>(values);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(use_large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               90000));
    use_large_shared<<<1, 32, 90000>>>(values);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&sum, values, sizeof(sum), cudaMemcpyDeviceToHost));
    CHECK(sum == 31);
    CHECK(cudaFree(values));

    int called = 0;
    CHECK(cudaLaunchHostFunc(stream, [](void* data) { *static_cast<int*>(data) = 1; }, &called));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(called == 1);
    int blocks = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    CHECK(blocks > 0);
    CHECK(cudaStreamDestroy(stream));
}

void errors() {
    Vectors v;
    add<<<1, 2048>>>(v.a, v.b, v.c, count);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, size_t{1} << 50) == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
}

void variables() {
    const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof(values)));
    float* out;
    CHECK(cudaMallocManaged(&out, sizeof(values)));
    CHECK(managed[2] == 3);
    use_variables<<<1, 8>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; ++i)
        CHECK(out[i] == values[i]);
    int launched = 0;
    CHECK(cudaMemcpyFromSymbol(&launched, counter, sizeof(launched)));
    CHECK(launched == 8);
    CHECK(managed[2] == 2);
    CHECK(cudaFree(out));
}

void images() {
    const auto channels = cudaCreateChannelDesc<float>();
    constexpr size_t row = width * sizeof(float);
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &channels, width, height, cudaArraySurfaceLoadStore));
    std::vector<float> image(width * height);
    std::iota(image.begin(), image.end(), 0.0F);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description{};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    float* out;
    CHECK(cudaMalloc(&out, row * height));
    read_texture<<<height, width>>>(texture, out);
    std::vector<float> read(width * height);
    CHECK(cudaMemcpy(read.data(), out, row * height, cudaMemcpyDeviceToHost));
    CHECK(read == image);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    write_surface<<<height, width>>>(surface);
    CHECK(cudaMemcpy2DFromArray(read.data(), row, array, 0, 0, row, height,
                                cudaMemcpyDeviceToHost));
    CHECK(read[0] == 7);
    CHECK(read[width + 1] == 8);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
}

void graphs() {
    Vectors v;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(v.c, 0, count * sizeof(float), stream));
    add<<<4, 256, 0, stream>>>(v.a, v.b, v.c, count);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(v.is_sum());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

void memory() {
    float *host, *mapped;
    CHECK(cudaHostAlloc(&host, 256, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&mapped, host, 0));
    fill<<<1, 64>>>(mapped, 2.5F);
    CHECK(cudaDeviceSynchronize());
    CHECK(host[63] == 2.5F);
    CHECK(cudaFreeHost(host));
    float* pooled;
    CHECK(cudaMallocAsync(&pooled, 256, 0));
    fill<<<1, 64>>>(pooled, 1.5F);
    float value = 0;
    CHECK(cudaMemcpyAsync(&value, pooled + 63, sizeof(value), cudaMemcpyDeviceToHost, 0));
    CHECK(cudaFreeAsync(pooled, 0));
    CHECK(cudaDeviceSynchronize());
    CHECK(value == 1.5F);
}

void algorithms() {
    constexpr int length = 5000;
    std::vector<int> values(length);
    for (int i = 0; i < length; ++i)
        values[i] = i * 7919 % length;
    thrust::device_vector<int> device(values.begin(), values.end());
    thrust::sort(device.begin(), device.end());
    CHECK(device[0] == 0);
    CHECK(device[length - 1] == length - 1);
    CHECK(thrust::reduce(device.begin(), device.end()) == length * (length - 1) / 2);
}

}  // namespace

int main() {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.warpSize == 32);
    launches();
    errors();
    variables();
    images();
    graphs();
    memory();
    algorithms();
    if (wrong == 0) std::puts("All right.");
    return wrong == 0 ? 0 : 1;
}
