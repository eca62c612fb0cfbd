// cuDevicePrimaryCtx…
#include "emulator/driver/context/primary_context.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

namespace lode::emulator::driver {
namespace {

constexpr unsigned scheduling_flags = CU_CTX_SCHED_MASK;
constexpr unsigned known_context_flags = CU_CTX_FLAGS_MASK;

bool valid_flags(unsigned flags) noexcept {
    const unsigned scheduling = flags & scheduling_flags;
    return (flags & ~known_context_flags) == 0 &&
           (scheduling == CU_CTX_SCHED_AUTO || scheduling == CU_CTX_SCHED_SPIN ||
            scheduling == CU_CTX_SCHED_YIELD || scheduling == CU_CTX_SCHED_BLOCKING_SYNC);
}

void end_primary(Device& device) {
    driver().contexts.remove(Handles<Context, CUcontext>::native_of(*device.primary));
    device.primary->end();
}

CUresult release(const char* symbol, CUdevice dev) {
    return enter_release(symbol, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        return release_primary(*device);
    });
}

CUresult reset(const char* symbol, CUdevice dev) {
    return enter(symbol, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        const std::lock_guard lock(device->primary_mutex);
        // The references stay. The next call that retains the context opens it again.
        if (device->primary->is_open()) end_primary(*device);
        return CUDA_SUCCESS;
    });
}

CUresult set_flags(const char* symbol, CUdevice dev, unsigned flags) {
    return enter(symbol, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (!valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
        device->primary->flags = flags;
        return CUDA_SUCCESS;
    });
}

}  // namespace

void retain_primary(Device& device) {
    const std::lock_guard lock(device.primary_mutex);
    ++device.primary_references;
    if (device.primary->is_open()) return;
    device.primary->open();
    driver().contexts.add(device.primary);
}

CUresult release_primary(Device& device) {
    const std::lock_guard lock(device.primary_mutex);
    if (device.primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --device.primary_references;
    if (device.primary_references == 0 && device.primary->is_open()) end_primary(device);
    return CUDA_SUCCESS;
}

LODE_ENTRY cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
    return enter(__func__, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
        retain_primary(*device);
        *pctx = Handles<Context, CUcontext>::native_of(*device->primary);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDevicePrimaryCtxRelease(CUdevice dev) {
    return release(__func__, dev);
}

LODE_ENTRY cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    return release(__func__, dev);
}

LODE_ENTRY cuDevicePrimaryCtxReset(CUdevice dev) {
    return reset(__func__, dev);
}

LODE_ENTRY cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    return reset(__func__, dev);
}

LODE_ENTRY cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    return set_flags(__func__, dev, flags);
}

LODE_ENTRY cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
    return set_flags(__func__, dev, flags);
}

LODE_ENTRY cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
    return enter(__func__, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::lock_guard lock(device->primary_mutex);
        *flags = device->primary->flags;
        *active = device->primary->is_open() ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
