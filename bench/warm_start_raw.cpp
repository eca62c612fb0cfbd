// The same process without lode: opens the driver, loads the code from a file, launches and checks.
// Arguments: the driver library and the file.
#include "bench/warm_start.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

namespace {

void* library = nullptr;

template <class... Parameters, class... Arguments>
void call(const char* name, CUresult (*)(Parameters...), Arguments... arguments) {
    auto* const function =
        reinterpret_cast<CUresult(CUDAAPI*)(Parameters...)>(::dlsym(library, name));
    const CUresult result = function != nullptr ? function(arguments...) : CUDA_ERROR_NOT_FOUND;
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "%s fails with %d.\n", name, static_cast<int>(result));
    std::exit(1);
}

}  // namespace

// The exported name: cuda.h maps plain names to versioned ones by macros.
#define LODE_TEXT(name) #name
#define LODE_NAME(name) LODE_TEXT(name)
#define LODE_CALL(name, ...) \
    call(LODE_NAME(name), static_cast<decltype(&(name))>(nullptr), __VA_ARGS__)

int main(int count, char** arguments) {
    if (count != 3) return 2;
    library = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 1;
    std::ifstream file(arguments[2], std::ios::binary);
    std::string code(std::istreambuf_iterator<char>(file), {});

    using lode::bench::warm_start_elements;
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction fill = nullptr;
    CUstream stream = nullptr;
    CUdeviceptr values = 0;
    LODE_CALL(cuInit, 0U);
    LODE_CALL(cuDeviceGet, &device, 0);
    LODE_CALL(cuDevicePrimaryCtxRetain, &context, device);
    LODE_CALL(cuCtxSetCurrent, context);
    LODE_CALL(cuModuleLoadData, &module, static_cast<const void*>(code.c_str()));
    LODE_CALL(cuModuleGetFunction, &fill, module, "fill");
    LODE_CALL(cuStreamCreate, &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
    LODE_CALL(cuMemAlloc, &values, std::size_t{warm_start_elements} * 4);
    unsigned n = warm_start_elements;
    void* parameters[] = {&values, &n};
    LODE_CALL(cuLaunchKernel, fill, (n + 255) / 256, 1U, 1U, 256U, 1U, 1U, 0U, stream, parameters,
              static_cast<void**>(nullptr));
    LODE_CALL(cuStreamSynchronize, stream);
    std::vector<unsigned> result(n);
    LODE_CALL(cuMemcpyDtoH, static_cast<void*>(result.data()), values, std::size_t{n} * 4);
    if (!lode::bench::is_filled(result.data())) return 1;
    return ::write(STDOUT_FILENO, "v", 1) == 1 ? 0 : 1;
}
