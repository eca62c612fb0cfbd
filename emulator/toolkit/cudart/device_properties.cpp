// The properties of devices.
#include "emulator/toolkit/cudart/device_properties.hpp"

#include "emulator/toolkit/cudart/runtime.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

using namespace lode::emulator::cudart;

namespace {

/// The fields of DeviceProperties that are single attributes.
struct PropertyField {
    int DeviceProperties::*field;
    CUdevice_attribute which;
};
constexpr PropertyField int_properties[] = {
#define LODE_PROPERTY(field, attribute) {&DeviceProperties::field, CU_DEVICE_ATTRIBUTE_##attribute},
#include "emulator/toolkit/cudart/properties.def"
#undef LODE_PROPERTY
};
struct SizeProperty {
    size_t DeviceProperties::*field;
    CUdevice_attribute which;
};
constexpr SizeProperty size_properties[] = {
    {&DeviceProperties::sharedMemPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK},
    {&DeviceProperties::memPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH},
    {&DeviceProperties::totalConstMem, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY},
    {&DeviceProperties::textureAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT},
    {&DeviceProperties::texturePitchAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT},
    {&DeviceProperties::surfaceAlignment, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT},
    {&DeviceProperties::sharedMemPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {&DeviceProperties::sharedMemPerBlockOptin,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {&DeviceProperties::reservedSharedMemPerBlock,
     CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
};

template <std::size_t count>
void fill(int (&values)[count], int device, const CUdevice_attribute (&which)[count]) noexcept {
    for (std::size_t i = 0; i < count; ++i)
        values[i] = attribute(which[i], device);
}

void fill_extents(DeviceProperties& p, int device) noexcept {
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

CUresult read_properties(DeviceProperties& p, int device) noexcept {
    p = DeviceProperties{};
    for (const auto& [field, which] : int_properties)
        p.*field = attribute(which, device);
    for (const auto& [field, which] : size_properties)
        p.*field = static_cast<size_t>(attribute(which, device));
    fill_extents(p, device);
    p.accessPolicyMaxWindowSize =
        attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device);
    p.gpuDirectRDMAFlushWritesOptions = static_cast<unsigned>(
        attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, device));
    p.memoryPoolSupportedHandleTypes = static_cast<unsigned>(
        attribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, device));
    CUuuid uuid{};
    CUresult state = cuDeviceGetName(p.name, sizeof(p.name), device);
    if (state == CUDA_SUCCESS) state = cuDeviceTotalMem(&p.totalGlobalMem, device);
    if (state == CUDA_SUCCESS) state = cuDeviceGetUuid(&uuid, device);
    std::memcpy(p.uuid.bytes, uuid.bytes, sizeof(uuid.bytes));
    return state;
}

CUresult read_all(std::vector<DeviceProperties>& all) {
    int count = 0;
    CUresult state = cuDeviceGetCount(&count);
    for (int i = 0; i < count && state == CUDA_SUCCESS; ++i)
        state = read_properties(all.emplace_back(), i);
    return state;
}

/// Copies the first `bytes` of the properties to `found`.
cudaError_t give_properties(void* found, std::size_t bytes, int device) noexcept {
    if (found == nullptr) return remember(cudaErrorInvalidValue);
    if (const CUresult state = check_device(device); state != CUDA_SUCCESS) return remember(state);
    const std::vector<DeviceProperties>* all = nullptr;
    const CUresult state = all_properties(all);
    if (state == CUDA_SUCCESS) std::memcpy(found, &(*all)[device], bytes);
    return remember(state);
}

}  // namespace

CUresult lode::emulator::cudart::all_properties(
    const std::vector<DeviceProperties>*& found) noexcept {
    static std::atomic<const std::vector<DeviceProperties>*> known = nullptr;
    static std::mutex mutex;
    found = known.load(std::memory_order_acquire);
    if (found != nullptr) return CUDA_SUCCESS;
    try {
        const std::lock_guard lock(mutex);
        auto all = std::make_unique<std::vector<DeviceProperties>>();
        const CUresult state = known == nullptr ? read_all(*all) : CUDA_SUCCESS;
        if (state != CUDA_SUCCESS) return state;
        if (known == nullptr) known = all.release();  // Never freed: programs ask while they end.
        found = known;
        return CUDA_SUCCESS;
    } catch (const std::exception&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
}

LODE_RUNTIME cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
    return give_properties(prop, sizeof(DeviceProperties), device);
}

#if LODE_CUDA_MAJOR == 12
// The structure of CUDA 11 ends before the field hostRegisterSupported.
extern "C" cudaError_t CUDARTAPI get_properties_of_11(void* prop, int device)
    LODE_SYMBOL("cudaGetDeviceProperties");
extern "C" cudaError_t CUDARTAPI get_properties_of_11(void* prop, int device) {
    return give_properties(prop, offsetof(DeviceProperties, hostRegisterSupported), device);
}
#endif

LODE_RUNTIME cudaChooseDevice(int* device, const cudaDeviceProp* prop) {
    if (device == nullptr || prop == nullptr) return remember(cudaErrorInvalidValue);
    DeviceProperties wanted;
    std::memcpy(&wanted, prop, sizeof(wanted));
    CUresult state = initialise();
    const std::vector<DeviceProperties>* all = nullptr;
    if (state == CUDA_SUCCESS) state = all_properties(all);
    if (state != CUDA_SUCCESS) return remember(state);
    int best = 0;
    int best_score = -1;
    for (int i = 0; i < static_cast<int>(all->size()); ++i) {
        const DeviceProperties& own = (*all)[i];
        const bool is_new_enough =
            own.major > wanted.major || (own.major == wanted.major && own.minor >= wanted.minor);
        const int score =
            (is_new_enough ? 2 : 0) + (own.totalGlobalMem >= wanted.totalGlobalMem ? 1 : 0);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    *device = best;
    return cudaSuccess;
}
