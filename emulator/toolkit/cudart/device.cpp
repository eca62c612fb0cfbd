// Devices, errors and versions.
#include "emulator/driver/runtime_errors.hpp"
#include "emulator/toolkit/cudart/runtime.hpp"

using namespace lode::emulator::cudart;

namespace {

/// Enables or disables access to a device: the body gets its primary context.
template <class Body>
cudaError_t with_peer(int device, Body&& body) noexcept {
    return run([&]() -> CUresult {
        CUcontext peer = nullptr;
        if (const CUresult state = check_device(device); state != CUDA_SUCCESS) return state;
        if (const CUresult state = primary_context(device, peer); state != CUDA_SUCCESS)
            return state;
        return body(peer);
    });
}

}  // namespace

LODE_RUNTIME cudaGetLastError() {
    return last_error(true);
}
LODE_RUNTIME cudaPeekAtLastError() {
    return last_error(false);
}

extern "C" const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
    return lode::emulator::runtime_error_text(error, true);
}

extern "C" const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
    return lode::emulator::runtime_error_text(error, false);
}

LODE_RUNTIME cudaGetDeviceCount(int* count) {
    if (count == nullptr) return remember(cudaErrorInvalidValue);
    return remember(count_devices(*count));
}

LODE_RUNTIME cudaGetDevice(int* device) {
    if (device == nullptr) return remember(cudaErrorInvalidValue);
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return remember(state);
    *device = current_device();
    return cudaSuccess;
}

LODE_RUNTIME cudaSetDevice(int device) {
    const CUresult state = check_device(device);
    return remember(state == CUDA_SUCCESS ? choose_device(device) : state);
}

LODE_RUNTIME cudaInitDevice(int device, unsigned deviceFlags, unsigned flags) {
    if (const CUresult state = check_device(device); state != CUDA_SUCCESS) return remember(state);
    if ((flags & ~cudaInitDeviceFlagsAreValid) != 0) return remember(cudaErrorInvalidValue);
    if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
        const CUresult state = cuDevicePrimaryCtxSetFlags(device, deviceFlags);
        if (state != CUDA_SUCCESS) return remember(state);
    }
    CUcontext context = nullptr;
    return remember(primary_context(device, context));
}

LODE_RUNTIME cudaSetDeviceFlags(unsigned flags) {
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return remember(state);
    return remember(cuDevicePrimaryCtxSetFlags(current_device(), flags));
}

LODE_RUNTIME cudaGetDeviceFlags(unsigned* flags) {
    if (flags == nullptr) return remember(cudaErrorInvalidValue);
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return remember(state);
    int is_active = 0;
    return remember(cuDevicePrimaryCtxGetState(current_device(), flags, &is_active));
}

LODE_RUNTIME cudaSetValidDevices(int* device_arr, int len) {
    if (len == 0) return cudaSuccess;
    if (device_arr == nullptr || len < 0) return remember(cudaErrorInvalidValue);
    for (int i = 0; i < len; ++i)
        if (const CUresult state = check_device(device_arr[i]); state != CUDA_SUCCESS)
            return remember(state);
    return remember(choose_device(device_arr[0]));
}

LODE_RUNTIME cudaDeviceReset() {
    return remember(reset_device());
}

LODE_RUNTIME cudaDriverGetVersion(int* driverVersion) {
    return remember(cuDriverGetVersion(driverVersion));
}

LODE_RUNTIME cudaGetExportTable(const void** ppExportTable, const cudaUUID_t* pExportTableId) {
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return remember(state);
    return remember(cuGetExportTable(ppExportTable, pExportTableId));
}

LODE_RUNTIME cudaRuntimeGetVersion(int* runtimeVersion) {
    if (runtimeVersion == nullptr) return remember(cudaErrorInvalidValue);
    *runtimeVersion = runtime_version;
    return cudaSuccess;
}

LODE_RUNTIME cudaDeviceEnablePeerAccess(int peerDevice, unsigned flags) {
    return with_peer(peerDevice,
                     [&](CUcontext peer) { return cuCtxEnablePeerAccess(peer, flags); });
}

LODE_RUNTIME cudaDeviceDisablePeerAccess(int peerDevice) {
    return with_peer(peerDevice, [](CUcontext peer) { return cuCtxDisablePeerAccess(peer); });
}

LODE_RUNTIME cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* pConfig) {
    return forward(cuCtxGetSharedMemConfig, pConfig);
}

LODE_RUNTIME cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return forward(cuCtxSetSharedMemConfig, config);
}

// Declared in cuda_profiler_api.h.
LODE_RUNTIME cudaProfilerStart();
LODE_RUNTIME cudaProfilerStop();
extern "C" CUresult CUDAAPI cuProfilerStart();
extern "C" CUresult CUDAAPI cuProfilerStop();

LODE_RUNTIME cudaProfilerStart() {
    return forward(cuProfilerStart);
}

LODE_RUNTIME cudaProfilerStop() {
    return forward(cuProfilerStop);
}
