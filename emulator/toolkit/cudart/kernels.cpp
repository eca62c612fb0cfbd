// Kernels and variables: their attributes, occupancy, and the configuration of a launch.
#include "emulator/toolkit/cudart/binaries.hpp"

#include <vector>

using namespace lode::emulator::cudart;

namespace {

struct CallConfiguration {
    dim3 grid;
    dim3 block;
    size_t shared;
    void* stream;
};

thread_local std::vector<CallConfiguration> configurations;

/// Calls the body with a function in the current context: CUresult body(CUfunction).
template <class Body>
cudaError_t with_function(const void* host, Body&& body) {
    return run([&]() -> cudaError_t {
        CUfunction function = nullptr;
        const cudaError_t state = function_of(host, function);
        return state == cudaSuccess ? error_of(body(function)) : state;
    });
}

}  // namespace

LODE_RUNTIME cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
    return with_function(func, [&](CUfunction function) -> CUresult {
        if (attr == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *attr = cudaFuncAttributes{};
        CUresult state = CUDA_SUCCESS;
        int value = 0;
#define LODE_FIELD(field, attribute)                                                 \
    if (state == CUDA_SUCCESS) {                                                     \
        state = cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_##attribute, function); \
        attr->field = static_cast<decltype(attr->field)>(value);                     \
    }
#include "emulator/driver/code/function_fields.def"
#undef LODE_FIELD
        return state;
    });
}

// The attributes that can be set have the driver's numbers.
static_assert(int{cudaFuncAttributeMaxDynamicSharedMemorySize} ==
              int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
static_assert(int{cudaFuncAttributeNonPortableClusterSizeAllowed} ==
              int{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED});

LODE_RUNTIME cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
    return with_function(func, [&](CUfunction function) {
        return cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attr), value);
    });
}

LODE_RUNTIME cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr, int value,
                                             int device) {
    return forward(cuKernelSetAttribute, attr, value, kernel, device);
}

LODE_RUNTIME cudaFuncSetCacheConfig(const void* func, cudaFuncCache cacheConfig) {
    return with_function(func, [&](CUfunction function) {
        return cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(cacheConfig));
    });
}

LODE_RUNTIME cudaFuncSetSharedMemConfig(const void* func, cudaSharedMemConfig config) {
    return with_function(func, [&](CUfunction function) {
        return cuFuncSetSharedMemConfig(function, static_cast<CUsharedconfig>(config));
    });
}

LODE_RUNTIME cudaFuncGetName(const char** name, const void* func) {
    return with_function(func, [&](CUfunction function) { return cuFuncGetName(name, function); });
}

LODE_RUNTIME cudaFuncGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset,
                                  size_t* paramSize) {
    return with_function(func, [&](CUfunction function) {
        return cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize);
    });
}

LODE_RUNTIME cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
    return with_function(symbolPtr, [&](CUfunction function) {
        if (functionPtr == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *functionPtr = function;
        return CUDA_SUCCESS;
    });
}

LODE_RUNTIME cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
    return run([&]() -> cudaError_t {
        CUkernel kernel = nullptr;
        if (kernelPtr == nullptr) return cudaErrorInvalidValue;
        const cudaError_t state = kernel_of(entryFuncAddr, kernel);
        if (state == cudaSuccess) *kernelPtr = as<cudaKernel_t>(kernel);
        return state;
    });
}

LODE_RUNTIME cudaGetSymbolAddress(void** devPtr, const void* symbol) {
    return run([&]() -> cudaError_t {
        Symbol found;
        if (devPtr == nullptr) return cudaErrorInvalidValue;
        const cudaError_t state = symbol_of(symbol, found);
        if (state == cudaSuccess) *devPtr = reinterpret_cast<void*>(found.address);
        return state;
    });
}

LODE_RUNTIME cudaGetSymbolSize(size_t* size, const void* symbol) {
    return run([&]() -> cudaError_t {
        Symbol found;
        if (size == nullptr) return cudaErrorInvalidValue;
        const cudaError_t state = symbol_of(symbol, found);
        if (state == cudaSuccess) *size = found.bytes;
        return state;
    });
}

LODE_RUNTIME cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks,
                                                                    const void* func, int blockSize,
                                                                    size_t dynamicSMemSize,
                                                                    unsigned flags) {
    return with_function(func, [&](CUfunction function) {
        return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, function, blockSize,
                                                                    dynamicSMemSize, flags);
    });
}

LODE_RUNTIME cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func,
                                                           int blockSize, size_t dynamicSMemSize) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                  dynamicSMemSize, 0);
}

LODE_RUNTIME cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, const void* func,
                                                       int numBlocks, int blockSize) {
    return with_function(func, [&](CUfunction function) {
        return cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function, numBlocks,
                                                       blockSize);
    });
}

static_assert(sizeof(cudaLaunchConfig_t) == sizeof(CUlaunchConfig) &&
              offsetof(cudaLaunchConfig_t, attrs) == offsetof(CUlaunchConfig, attrs));

LODE_RUNTIME cudaOccupancyMaxActiveClusters(int* numClusters, const void* func,
                                            const cudaLaunchConfig_t* launchConfig) {
    return with_function(func, [&](CUfunction function) {
        return cuOccupancyMaxActiveClusters(numClusters, function,
                                            as<const CUlaunchConfig*>(launchConfig));
    });
}

LODE_RUNTIME cudaOccupancyMaxPotentialClusterSize(int* clusterSize, const void* func,
                                                  const cudaLaunchConfig_t* launchConfig) {
    return with_function(func, [&](CUfunction function) {
        return cuOccupancyMaxPotentialClusterSize(clusterSize, function,
                                                  as<const CUlaunchConfig*>(launchConfig));
    });
}

// What crt/host_runtime.h and crt/device_functions.h declare for the code of nvcc.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim,
                                                          size_t sharedMem, CUstream_st* stream) {
    try {
        configurations.push_back({gridDim, blockDim, sharedMem, stream});
        return 0;
    } catch (const std::exception&) {
        return 1;
    }
}

extern "C" cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* gridDim, dim3* blockDim,
                                                            size_t* sharedMem, void* stream) {
    if (configurations.empty()) return remember(cudaErrorMissingConfiguration);
    const CallConfiguration& last = configurations.back();
    *gridDim = last.grid;
    *blockDim = last.block;
    *sharedMem = last.shared;
    *static_cast<void**>(stream) = last.stream;
    configurations.pop_back();
    return cudaSuccess;
}

extern "C" cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    return cudaGetKernel(kernel, function);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
