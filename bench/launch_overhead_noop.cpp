#include "bench/launch_overhead_noop.hpp"

#include <lode/base/unwrap.hpp>

#include <string_view>

#include <fmt/format.h>

namespace lode::bench {
namespace {

/// A non-null handle that refers to nothing.
template <class Handle>
Handle some_handle() {
    static int object = 0;
    return reinterpret_cast<Handle>(&object);
}

/// Stands in for every entry point whose results aren't read. It is called through other function
/// types than its own, which works in the calling conventions of every platform with a CUDA driver.
CUresult succeed() {
    return CUDA_SUCCESS;
}

CUresult CUDAAPI driver_version(int* version) {
    *version = 13000;  // For NVRTC's code; resolve() has the functions of 12.0 alone.
    return CUDA_SUCCESS;
}

CUresult CUDAAPI device_count(int* count) {
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = 9;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
            *value = 0;
            break;
        default:
            *value = 1024;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI retain(CUcontext* context, CUdevice) {
    *context = some_handle<CUcontext>();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI create_stream(CUstream* stream, unsigned, int) {
    *stream = some_handle<CUstream>();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI allocate(CUdeviceptr* address, std::size_t) {
    *address = 256;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI load_library(CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                              CUlibraryOption*, void**, unsigned) {
    *library = some_handle<CUlibrary>();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI get_kernel(CUkernel* kernel, CUlibrary, const char*) {
    *kernel = some_handle<CUkernel>();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI kernel_attribute(int* value, CUfunction_attribute attribute, CUkernel, CUdevice) {
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI launch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void**, void**) {
    return CUDA_SUCCESS;
}

CUresult CUDAAPI launch_ex(const CUlaunchConfig*, CUfunction, void**, void**) {
    return CUDA_SUCCESS;
}

void* resolve(const char* name, int abi_version) {
    struct Entry {
        std::string_view name;
        void* function;
    };
    static const Entry entries[] = {
        {"cuDriverGetVersion", reinterpret_cast<void*>(&driver_version)},
        {"cuDeviceGetCount", reinterpret_cast<void*>(&device_count)},
        {"cuDeviceGetAttribute", reinterpret_cast<void*>(&device_attribute)},
        {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(&retain)},
        {"cuStreamCreateWithPriority", reinterpret_cast<void*>(&create_stream)},
        {"cuMemAlloc", reinterpret_cast<void*>(&allocate)},
        {"cuLibraryLoadData", reinterpret_cast<void*>(&load_library)},
        {"cuLibraryGetKernel", reinterpret_cast<void*>(&get_kernel)},
        {"cuKernelGetAttribute", reinterpret_cast<void*>(&kernel_attribute)},
        {"cuLaunchKernel", reinterpret_cast<void*>(&launch)},
        {"cuLaunchKernelEx", reinterpret_cast<void*>(&launch_ex)},
    };
    if (abi_version > Driver::minimum_version) return nullptr;
    for (const auto& entry : entries) {
        if (entry.name == name) return entry.function;
    }
    return reinterpret_cast<void*>(&succeed);
}

}  // namespace

Driver noop_driver() {
    return unwrap(Driver::from_resolver(resolve, "the no-op driver"));
}

Image noop_image(std::size_t arguments, std::string_view type) {
    std::string parameters;
    for (std::size_t i = 0; i < arguments; ++i)
        parameters += fmt::format("{}.param {} p{}", i == 0 ? "" : ", ", type, i);
    return unwrap(Image::from_ptx(
        fmt::format(".version 8.0\n.target sm_90\n.address_size 64\n.entry k({})\n{{\n\tret;\n}}\n",
                    parameters),
        "noop.ptx"));
}

PFN_cuLaunchKernel_v4000 noop_launch() noexcept {
    return &launch;
}

PFN_cuLaunchKernelEx_v11060 noop_launch_ex() noexcept {
    return &launch_ex;
}

}  // namespace lode::bench
