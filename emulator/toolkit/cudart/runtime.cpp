#include "emulator/toolkit/cudart/runtime.hpp"

#include "emulator/toolkit/cudart/device_properties.hpp"

#include <map>
#include <mutex>

namespace lode::emulator::cudart {
namespace {

struct Thread {
    int device = 0;
    cudaError_t last = cudaSuccess;
};

thread_local Thread this_thread;

/// The primary contexts that the library has retained. Never destroyed: programs call the library
/// while the process ends.
struct Contexts {
    std::mutex mutex;
    std::map<int, CUcontext> primary;
};

Contexts& contexts() {
    static Contexts& instance = *new Contexts;
    return instance;
}

}  // namespace

cudaError_t remember(cudaError_t error) noexcept {
    if (error != cudaSuccess) this_thread.last = error;
    return error;
}

cudaError_t last_error(bool clear) noexcept {
    const cudaError_t last = this_thread.last;
    if (clear) this_thread.last = cudaSuccess;
    return last;
}

CUresult initialise() noexcept {
    static const CUresult state = cuInit(0);
    const std::vector<DeviceProperties>* all = nullptr;
    if (state == CUDA_SUCCESS) all_properties(all);  // A host function may be the next to ask.
    return state;
}

CUresult count_devices(int& count) noexcept {
    CUresult state = initialise();
    const std::vector<DeviceProperties>* all = nullptr;
    if (state == CUDA_SUCCESS) state = all_properties(all);
    count = state == CUDA_SUCCESS ? static_cast<int>(all->size()) : 0;
    return state;
}

CUresult check_device(int device) noexcept {
    int count = 0;
    if (const CUresult state = count_devices(count); state != CUDA_SUCCESS) return state;
    return device >= 0 && device < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult primary_context(int device, CUcontext& context) noexcept {
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return state;
    try {
        Contexts& all = contexts();
        const std::lock_guard lock(all.mutex);
        if (const auto found = all.primary.find(device); found != all.primary.end()) {
            context = found->second;
            return CUDA_SUCCESS;
        }
        const CUresult state = cuDevicePrimaryCtxRetain(&context, device);
        if (state == CUDA_SUCCESS) all.primary.emplace(device, context);
        return state;
    } catch (const std::exception&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
}

CUresult open_context() noexcept {
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return state;
    CUcontext context = nullptr;
    if (cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) return CUDA_SUCCESS;
    const CUresult state = primary_context(this_thread.device, context);
    return state == CUDA_SUCCESS ? cuCtxSetCurrent(context) : state;
}

int current_device() noexcept {
    CUdevice device = 0;
    CUcontext context = nullptr;
    const bool has_context = initialise() == CUDA_SUCCESS &&
                             cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
                             cuCtxGetDevice(&device) == CUDA_SUCCESS;
    return has_context ? device : this_thread.device;
}

CUresult choose_device(int device) noexcept {
    CUcontext context = nullptr;
    CUresult state = primary_context(device, context);
    if (state == CUDA_SUCCESS) state = cuCtxSetCurrent(context);
    if (state == CUDA_SUCCESS) this_thread.device = device;
    return state;
}

CUresult reset_device() noexcept {
    if (const CUresult state = initialise(); state != CUDA_SUCCESS) return state;
    const int device = current_device();
    Contexts& all = contexts();
    const std::lock_guard lock(all.mutex);
    const CUresult state = cuDevicePrimaryCtxReset(device);
    all.primary.erase(device);
    cuCtxSetCurrent(nullptr);
    this_thread.device = device;
    return state;
}

int attribute(CUdevice_attribute which, int device) noexcept {
    int value = 0;
    return cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

}  // namespace lode::emulator::cudart
