// A program that knows nothing of lode: it compiles a kernel with the NVRTC that its first argument
// names, and the options that follow, then loads the cubin with the driver, opened by a path, and
// runs it. It prints what NVRTC says, what the cubin is and what the kernel computes.
#include <cstdio>
#include <string>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

namespace {

constexpr int count = 32;
constexpr const char* source = R"(
#ifdef BROKEN
broken
#endif
extern "C" __global__ void k(int* out) { out[threadIdx.x] = 7 * threadIdx.x; }
)";

void* library;

template <class Function>
Function* entry_of(const char* name) {
    auto* const found = reinterpret_cast<Function*>(::dlsym(library, name));
    if (found == nullptr) std::printf("no %s\n", name);
    return found;
}

#define CALL(name, ...) entry_of<decltype(::name)>(#name)(__VA_ARGS__)

std::string kind_of(const std::string& cubin) {
    if (cubin.empty()) return "none";
    if (cubin.compare(0, 4, "\177ELF") == 0) return "machine code";
    return cubin.find(".entry k(") != std::string::npos && cubin.back() == '\0' ? "PTX" : "unknown";
}

int run(const std::string& image) {
    library = ::dlopen("/nonexistent/libcuda.so.580.1", RTLD_NOW);
    if (library == nullptr) {
        std::puts("no driver");
        return 0;
    }
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CUdeviceptr memory = 0;
    int values[count] = {};
    void* parameters[] = {&memory};
    if (CALL(cuInit, 0) != CUDA_SUCCESS || CALL(cuDeviceGet, &device, 0) != CUDA_SUCCESS ||
        CALL(cuDevicePrimaryCtxRetain, &context, device) != CUDA_SUCCESS ||
        CALL(cuCtxSetCurrent, context) != CUDA_SUCCESS)
        return 4;
    const CUresult loaded = CALL(cuModuleLoadData, &module, image.data());
    std::printf("loads: %d\n", loaded);
    if (loaded != CUDA_SUCCESS) return 0;
    auto* const allocate = entry_of<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2");
    auto* const copy = entry_of<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH_v2");
    if (CALL(cuModuleGetFunction, &kernel, module, "k") != CUDA_SUCCESS ||
        allocate(&memory, sizeof(values)) != CUDA_SUCCESS ||
        CALL(cuLaunchKernel, kernel, 1, 1, 1, count, 1, 1, 0, nullptr, parameters, nullptr) !=
            CUDA_SUCCESS ||
        copy(values, memory, sizeof(values)) != CUDA_SUCCESS)
        return 5;
    std::printf("last value: %d\n", values[count - 1]);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    library = argc > 1 ? ::dlopen(argv[1], RTLD_NOW) : nullptr;
    if (library == nullptr) {
        std::puts(argc > 1 ? ::dlerror() : "no NVRTC is named");
        return 3;
    }
    // The stand-in doesn't have this function, which the original answers.
    int architectures = 0;
    std::printf("architectures: %d", CALL(nvrtcGetNumSupportedArchs, &architectures));
    std::printf(" %d\n", architectures);
    nvrtcProgram program = nullptr;
    if (CALL(nvrtcCreateProgram, &program, source, "k.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
        return 4;
    const std::vector<const char*> options(argv + 2, argv + argc);
    std::printf("compiles: %d\n", CALL(nvrtcCompileProgram, program,
                                       static_cast<int>(options.size()), options.data()));
    std::size_t size = 0;
    CALL(nvrtcGetProgramLogSize, program, &size);
    std::string text(size, '\0');
    CALL(nvrtcGetProgramLog, program, text.data());
    std::printf("log: %s\n", text.c_str());
    CALL(nvrtcGetLTOIRSize, program, &size);
    std::printf("LTO-IR: %zu\n", size);
    const int sized = CALL(nvrtcGetCUBINSize, program, &size);
    std::string cubin(size, '\0');
    const int given = CALL(nvrtcGetCUBIN, program, cubin.data());
    std::printf("cubin: %d %d %s\n", sized, given, kind_of(cubin).c_str());
    std::printf("wrong calls: %d", CALL(nvrtcGetCUBINSize, nullptr, &size));
    std::printf(" %d\n", CALL(nvrtcGetCUBINSize, program, nullptr));
    CALL(nvrtcDestroyProgram, &program);
    return cubin.empty() ? 0 : run(cubin);
}
