// A program for NVRTC and the driver API, as libraries for compilation at run time are: templates
// by name expressions, headers in memory, a constant that the host sets. It asks for machine code
// and checks what its kernels compute.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <cuda.h>
#include <nvrtc.h>

namespace {

constexpr const char* header = R"(
template <class T> __device__ T square(T value) { return value * value; }
)";
constexpr const char* source = R"(
#include "square.hpp"
__constant__ int offset;
template <class T, int steps> __global__ void power(const T* in, T* out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    T value = in[i];
    for (int step = 0; step < steps; ++step) value = square(value);
    out[i] = value + T(offset);
}
)";

[[noreturn]] void fail(const char* what, int code) {
    std::printf("%s gives %d\n", what, code);
    std::exit(1);
}

#define CHECK(call)                                     \
    do {                                                \
        if (const int code = (call)) fail(#call, code); \
    } while (false)

std::string architecture(CUdevice device) {
    int major = 0;
    int minor = 0;
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    return "-arch=sm_" + std::to_string(10 * major + minor);
}

template <class T>
void run(CUdevice device, const char* kernel_name, int offset, T power_of_five) {
    const char* const name = "square.hpp";
    nvrtcProgram program = nullptr;
    CHECK(nvrtcCreateProgram(&program, source, "power.cu", 1, &header, &name));
    CHECK(nvrtcAddNameExpression(program, kernel_name));
    CHECK(nvrtcAddNameExpression(program, "&offset"));
    const std::string arch = architecture(device);
    const char* const options[] = {arch.c_str(), "-std=c++17"};
    CHECK(nvrtcCompileProgram(program, 2, options));
    std::size_t size = 0;
    CHECK(nvrtcGetCUBINSize(program, &size));
    std::vector<char> image(size);
    CHECK(nvrtcGetCUBIN(program, image.data()));
    const char* lowered_kernel = nullptr;
    const char* lowered_offset = nullptr;
    CHECK(nvrtcGetLoweredName(program, kernel_name, &lowered_kernel));
    CHECK(nvrtcGetLoweredName(program, "&offset", &lowered_offset));

    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr constant = 0;
    CHECK(cuModuleLoadData(&module, image.data()));
    CHECK(cuModuleGetFunction(&kernel, module, lowered_kernel));
    CHECK(cuModuleGetGlobal(&constant, nullptr, module, lowered_offset));
    CHECK(cuMemcpyHtoD(constant, &offset, sizeof(offset)));
    CHECK(nvrtcDestroyProgram(&program));

    int count = 1000;
    const std::size_t bytes = count * sizeof(T);
    std::vector<T> values(count, T(5));
    CUdeviceptr in = 0;
    CUdeviceptr out = 0;
    CHECK(cuMemAlloc(&in, bytes));
    CHECK(cuMemAlloc(&out, bytes));
    CHECK(cuMemcpyHtoD(in, values.data(), bytes));
    void* parameters[] = {&in, &out, &count};
    CHECK(cuLaunchKernel(kernel, 8, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    CHECK(cuMemcpyDtoH(values.data(), out, bytes));
    for (const T value : values)
        if (value != power_of_five + T(offset)) fail("A result", static_cast<int>(value));
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
}

}  // namespace

int main() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    run<float>(device, "power<float, 2>", 3, 625.0F);
    run<int>(device, "power<int, 3>", -7, 390625);
    CHECK(cuDevicePrimaryCtxRelease(device));
    std::puts("All right.");
    return 0;
}
