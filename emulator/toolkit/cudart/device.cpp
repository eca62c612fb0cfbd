// Devices, errors and versions.
#include "emulator/toolkit/cudart/runtime.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

using namespace lode::emulator::cudart;

namespace {

struct ErrorRow {
    cudaError_t error;
    const char* name;
    const char* meaning;  ///< Empty where the driver has the error.
};
constexpr ErrorRow errors[] = {
#define LODE_ERROR(name, meaning) {name, #name, meaning},
#include "emulator/toolkit/cudart/errors.def"
#undef LODE_ERROR
};

const ErrorRow* row_of(cudaError_t error) noexcept {
    const auto* const row = std::ranges::find(errors, error, &ErrorRow::error);
    return row == std::end(errors) ? nullptr : row;
}

/// The fields of cudaDeviceProp that are single attributes.
struct PropertyField {
    int cudaDeviceProp::*field;
    CUdevice_attribute which;
};
constexpr PropertyField int_properties[] = {
#define LODE_PROPERTY(field, attribute) {&cudaDeviceProp::field, CU_DEVICE_ATTRIBUTE_##attribute},
#include "emulator/toolkit/cudart/properties.def"
#undef LODE_PROPERTY
};
struct SizeProperty {
    size_t cudaDeviceProp::*field;
    CUdevice_attribute which;
};
constexpr SizeProperty size_properties[] = {
    {&cudaDeviceProp::sharedMemPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {&cudaDeviceProp::memPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
    {&cudaDeviceProp::totalConstMem, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {&cudaDeviceProp::textureAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT},
    {&cudaDeviceProp::texturePitchAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT},
    {&cudaDeviceProp::surfaceAlignment, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT},
    {&cudaDeviceProp::sharedMemPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {&cudaDeviceProp::sharedMemPerBlockOptin,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {&cudaDeviceProp::reservedSharedMemPerBlock,
     CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
};

template <std::size_t count>
void fill(int (&values)[count], int device, const CUdevice_attribute (&which)[count]) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        values[i] = attribute(which[i], device);
}

void fill_extents(cudaDeviceProp& p, int device) noexcept {
#define LODE_ATTRIBUTE(name) CU_DEVICE_ATTRIBUTE_##name
    fill(p.maxThreadsDim, device,
         {LODE_ATTRIBUTE(MAX_BLOCK_DIM_X), LODE_ATTRIBUTE(MAX_BLOCK_DIM_Y),
          LODE_ATTRIBUTE(MAX_BLOCK_DIM_Z)});
    fill(p.maxGridSize, device,
         {LODE_ATTRIBUTE(MAX_GRID_DIM_X), LODE_ATTRIBUTE(MAX_GRID_DIM_Y),
          LODE_ATTRIBUTE(MAX_GRID_DIM_Z)});
    fill(p.maxTexture2D, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_WIDTH), LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_HEIGHT)});
    fill(p.maxTexture2DMipmap, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)});
    fill(p.maxTexture2DLinear, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_LINEAR_PITCH)});
    fill(p.maxTexture2DGather, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_GATHER_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_GATHER_HEIGHT)});
    fill(p.maxTexture3D, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH), LODE_ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH)});
    fill(p.maxTexture3DAlt, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE)});
    fill(p.maxTexture1DLayered, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE1D_LAYERED_LAYERS)});
    fill(p.maxTexture2DLayered, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURE2D_LAYERED_LAYERS)});
    fill(p.maxTextureCubemapLayered, device,
         {LODE_ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)});
    fill(p.maxSurface2D, device,
         {LODE_ATTRIBUTE(MAXIMUM_SURFACE2D_WIDTH), LODE_ATTRIBUTE(MAXIMUM_SURFACE2D_HEIGHT)});
    fill(p.maxSurface3D, device,
         {LODE_ATTRIBUTE(MAXIMUM_SURFACE3D_WIDTH), LODE_ATTRIBUTE(MAXIMUM_SURFACE3D_HEIGHT),
          LODE_ATTRIBUTE(MAXIMUM_SURFACE3D_DEPTH)});
    fill(p.maxSurface1DLayered, device,
         {LODE_ATTRIBUTE(MAXIMUM_SURFACE1D_LAYERED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_SURFACE1D_LAYERED_LAYERS)});
    fill(p.maxSurface2DLayered, device,
         {LODE_ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
          LODE_ATTRIBUTE(MAXIMUM_SURFACE2D_LAYERED_LAYERS)});
    fill(p.maxSurfaceCubemapLayered, device,
         {LODE_ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
          LODE_ATTRIBUTE(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS)});
#undef LODE_ATTRIBUTE
}

/// CUDA_ERROR_INVALID_DEVICE unless there is such a device.
CUresult check_device(int device) noexcept {
    int count = 0;
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return state;
    if (const CUresult state = cuDeviceGetCount(&count); state != CUDA_SUCCESS) return state;
    return device >= 0 && device < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

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
    const ErrorRow* const row = row_of(error);
    return row == nullptr ? "unrecognized error code" : row->name;
}

extern "C" const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
    const ErrorRow* const row = row_of(error);
    if (row != nullptr && *row->meaning != '\0') return row->meaning;
    const char* text = nullptr;
    const bool is_known =
        row != nullptr && cuGetErrorString(static_cast<CUresult>(error), &text) == CUDA_SUCCESS;
    return is_known ? text : "unrecognized error code";
}

LODE_RUNTIME cudaGetDeviceCount(int* count) {
    if (count == nullptr) return remember(cudaErrorInvalidValue);
    *count = 0;
    const CUresult state = initialise();
    return remember(state == CUDA_SUCCESS ? cuDeviceGetCount(count) : state);
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

LODE_RUNTIME cudaRuntimeGetVersion(int* runtimeVersion) {
    if (runtimeVersion == nullptr) return remember(cudaErrorInvalidValue);
    *runtimeVersion = CUDART_VERSION;
    return cudaSuccess;
}

LODE_RUNTIME cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
    if (prop == nullptr) return remember(cudaErrorInvalidValue);
    if (const CUresult state = check_device(device); state != CUDA_SUCCESS) return remember(state);
    *prop = cudaDeviceProp{};
    for (const auto& [field, which] : int_properties)
        prop->*field = attribute(which, device);
    for (const auto& [field, which] : size_properties)
        prop->*field = static_cast<size_t>(attribute(which, device));
    fill_extents(*prop, device);
    CUuuid uuid{};
    CUresult state = cuDeviceGetName(prop->name, sizeof(prop->name), device);
    if (state == CUDA_SUCCESS) state = cuDeviceTotalMem(&prop->totalGlobalMem, device);
    if (state == CUDA_SUCCESS) state = cuDeviceGetUuid(&uuid, device);
    std::memcpy(prop->uuid.bytes, uuid.bytes, sizeof(uuid.bytes));
    prop->accessPolicyMaxWindowSize =
        attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device);
    return remember(state);
}

LODE_RUNTIME cudaChooseDevice(int* device, const cudaDeviceProp* prop) {
    if (device == nullptr || prop == nullptr) return remember(cudaErrorInvalidValue);
    int count = 0;
    if (const cudaError_t state = cudaGetDeviceCount(&count); state != cudaSuccess) return state;
    int best = 0;
    int best_score = -1;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp own{};
        if (const cudaError_t state = cudaGetDeviceProperties(&own, i); state != cudaSuccess)
            return state;
        const bool is_new_enough =
            own.major > prop->major || (own.major == prop->major && own.minor >= prop->minor);
        const int score =
            (is_new_enough ? 2 : 0) + (own.totalGlobalMem >= prop->totalGlobalMem ? 1 : 0);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    *device = best;
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
