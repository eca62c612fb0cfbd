// Launches. Compiled twice: see LODE_PER_THREAD_STREAM.
#include "emulator/toolkit/cudart/binaries.hpp"

namespace {

using namespace lode::emulator::cudart;

static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(cudaLaunchAttribute, val) == offsetof(CUlaunchAttribute, value));

/// Whether a device can't have blocks or grids of this shape.
bool is_wrong_shape(dim3 grid, dim3 block) noexcept {
    constexpr unsigned most_y_and_z = 65535;
    constexpr unsigned most_block_z = 64;
    const auto threads = static_cast<unsigned long long>(block.x) * block.y * block.z;
    const auto most = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, current_device());
    return grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0 || grid.x > 0x7fffffffU ||
           grid.y > most_y_and_z || grid.z > most_y_and_z || block.z > most_block_z ||
           threads > static_cast<unsigned>(most);
}

cudaError_t launch(CUkernel kernel, const cudaLaunchConfig_t& config, void** arguments) noexcept {
    const dim3 grid = config.gridDim;
    const dim3 block = config.blockDim;
    if (is_wrong_shape(grid, block)) return cudaErrorInvalidConfiguration;
    CUlaunchConfig native{};
    native.gridDimX = grid.x;
    native.gridDimY = grid.y;
    native.gridDimZ = grid.z;
    native.blockDimX = block.x;
    native.blockDimY = block.y;
    native.blockDimZ = block.z;
    native.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
    native.hStream = config.stream;
    native.attrs = as<CUlaunchAttribute*>(config.attrs);
    native.numAttrs = config.numAttrs;
    return error_of(
        cuLaunchKernelEx(&native, reinterpret_cast<CUfunction>(kernel), arguments, nullptr));
}

cudaError_t launch_of(const void* function, const cudaLaunchConfig_t& config, void** arguments) {
    CUkernel kernel = nullptr;
    const cudaError_t state = kernel_of(function, kernel);
    return state == cudaSuccess ? launch(kernel, config, arguments) : state;
}

cudaLaunchConfig_t config_of(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) noexcept {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    return config;
}

}  // namespace

LODE_RUNTIME cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                              size_t sharedMem, cudaStream_t stream) {
    return run(
        [&] { return launch_of(func, config_of(gridDim, blockDim, sharedMem, stream), args); });
}

LODE_RUNTIME cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                         size_t sharedMem, cudaStream_t stream) {
    return run([&] {
        cudaLaunchAttribute cooperative{};
        cooperative.id = cudaLaunchAttributeCooperative;
        cooperative.val.cooperative = 1;
        auto config = config_of(gridDim, blockDim, sharedMem, stream);
        config.attrs = &cooperative;
        config.numAttrs = 1;
        return launch_of(func, config, args);
    });
}

LODE_RUNTIME cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args) {
    return run(
        [&] { return config == nullptr ? cudaErrorInvalidValue : launch_of(func, *config, args); });
}

LODE_RUNTIME cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                   void* userData, unsigned flags) {
    return forward(cuStreamAddCallback, stream, callback, userData, flags);
}

LODE_RUNTIME cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr,
                                              unsigned cudaVersion, unsigned long long flags,
                                              cudaDriverEntryPointQueryResult* driverStatus) {
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return remember(state);
    CUdriverProcAddressQueryResult found{};
#ifdef LODE_PER_THREAD_STREAM
    if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
#endif
    const CUresult result =
        cuGetProcAddress(symbol, funcPtr, static_cast<int>(cudaVersion), flags, &found);
    if (driverStatus != nullptr)
        *driverStatus = static_cast<cudaDriverEntryPointQueryResult>(found);
    // The status says what is wrong with a symbol.
    return remember(result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result);
}

// Deprecated: the newest version of a function.
#ifdef LODE_PER_THREAD_STREAM
#define LODE_ENTRY_POINT_OF cudaGetDriverEntryPoint_ptsz
#else
#define LODE_ENTRY_POINT_OF cudaGetDriverEntryPoint
#endif
#undef cudaGetDriverEntryPoint

LODE_RUNTIME LODE_ENTRY_POINT_OF(const char* symbol, void** funcPtr, unsigned long long flags,
                                 cudaDriverEntryPointQueryResult* driverStatus);
LODE_RUNTIME LODE_ENTRY_POINT_OF(const char* symbol, void** funcPtr, unsigned long long flags,
                                 cudaDriverEntryPointQueryResult* driverStatus) {
    return cudaGetDriverEntryPointByVersion(symbol, funcPtr, runtime_version, flags, driverStatus);
}

// What crt/device_functions.h declares for the code of nvcc.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
#ifdef LODE_PER_THREAD_STREAM
#define LODE_LAUNCH_HANDLE __cudaLaunchKernel_ptsz
#else
#define LODE_LAUNCH_HANDLE __cudaLaunchKernel
#endif

extern "C" cudaError_t CUDARTAPI LODE_LAUNCH_HANDLE(cudaKernel_t kernel, dim3 gridDim,
                                                    dim3 blockDim, void** args, size_t sharedMem,
                                                    cudaStream_t stream) {
    return run([&] {
        // __cudaGetKernel has failed, and its error is the thread's last one.
        if (kernel == nullptr) {
            const cudaError_t why = last_error(false);
            return why == cudaSuccess ? cudaErrorInvalidDeviceFunction : why;
        }
        return launch(as<CUkernel>(kernel), config_of(gridDim, blockDim, sharedMem, stream), args);
    });
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
