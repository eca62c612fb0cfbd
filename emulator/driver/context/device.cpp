// cuDevice…: the devices of the machine and their attributes.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

struct AttributeRow {
    int attribute;
    int (*value)(const Profile& profile, int index);
};

constexpr AttributeRow attributes[] = {
#define LODE_ATTRIBUTE(number, name, expression)                                                  \
    AttributeRow{number,                                                                          \
                 []([[maybe_unused]] const Profile& profile, [[maybe_unused]] int index) -> int { \
                     return expression;                                                           \
                 }},
#include "emulator/driver/attributes.def"
#undef LODE_ATTRIBUTE
};

/// enter() with the caller's device.
template <class Body>
CUresult enter_device(const char* symbol, CUdevice ordinal, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        Device* device = driver().device(ordinal);
        return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : body(*device);
    });
}

std::string pci_bus_id(const Device& device) {
    return fmt::format("0000:{:02X}:00.0", device.index + 1);
}

}  // namespace

std::optional<int> Device::attribute(int which) const noexcept {
    const auto row = std::ranges::find(attributes, which, &AttributeRow::attribute);
    if (row == std::end(attributes)) return std::nullopt;
    return row->value(profile, index);
}

LODE_ENTRY cuDeviceGetCount(int* count) {
    return enter(__func__, [&]() -> CUresult {
        if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *count = static_cast<int>(driver().devices.size());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGet(CUdevice* device, int ordinal) {
    return enter(__func__, [&]() -> CUresult {
        if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (driver().device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *device = ordinal;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetName(char* name, int len, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
        std::snprintf(name, static_cast<std::size_t>(len), "%s",
                      device.profile.device_name().c_str());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        const auto value = device.attribute(static_cast<int>(attrib));
        if (pi == nullptr || !value) return CUDA_ERROR_INVALID_VALUE;
        *pi = *value;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *major = device.profile.cc.cc_major();
        *minor = device.profile.cc.cc_minor();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *prop = CUdevprop{};
        prop->maxThreadsPerBlock = max_threads_per_block;
        prop->maxThreadsDim[0] = max_block_x;
        prop->maxThreadsDim[1] = max_block_y;
        prop->maxThreadsDim[2] = max_block_z;
        prop->maxGridSize[0] = max_grid_x;
        prop->maxGridSize[1] = max_grid_yz;
        prop->maxGridSize[2] = max_grid_yz;
        prop->sharedMemPerBlock = shared_bytes_per_block;
        prop->totalConstantMemory = constant_bytes;
        prop->SIMDWidth = warp_size;
        prop->memPitch = max_grid_x;
        prop->regsPerBlock = registers_per_block;
        prop->clockRate = device.profile.clock_mhz * 1000;
        prop->textureAlign = 512;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *bytes = device.total_memory();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *uuid = uuid_of(device.profile, device.index);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
    return cuDeviceGetUuid(uuid, dev);
}

LODE_ENTRY cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        const std::string id = pci_bus_id(device);
        if (pciBusId == nullptr || len <= static_cast<int>(id.size()))
            return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(pciBusId, id.c_str(), id.size() + 1);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
    return enter(__func__, [&]() -> CUresult {
        if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
        for (const auto& device : driver().devices) {
            if (pci_bus_id(*device) != pciBusId) continue;
            *dev = device->ordinal;
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

LODE_ENTRY cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format,
                                              unsigned numChannels, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device&) -> CUresult {
        if (maxWidthInElements == nullptr || numChannels == 0 || numChannels > 4)
            return CUDA_ERROR_INVALID_VALUE;
        *maxWidthInElements = std::size_t{268435456};
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType, CUdevice dev) {
    return enter_device(__func__, dev, [&](Device&) -> CUresult {
        if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *pi = 0;
        return CUDA_SUCCESS;
    });
}

// All devices share one address space, so each can access the memory of every other.

LODE_ENTRY cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
    return enter_device(__func__, dev, [&](Device& device) -> CUresult {
        if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const Device* peer = driver().device(peerDev);
        if (peer == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *canAccessPeer = peer != &device ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                   CUdevice dstDevice) {
    return enter_device(__func__, srcDevice, [&](Device& device) -> CUresult {
        const Device* peer = driver().device(dstDevice);
        if (peer == nullptr || peer == &device) return CUDA_ERROR_INVALID_DEVICE;
        if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
        switch (attrib) {
            case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
            case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
                *value = 0;
                return CUDA_SUCCESS;
            case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
            case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
                *value = 1;
                return CUDA_SUCCESS;
            default:
                return CUDA_ERROR_INVALID_VALUE;
        }
    });
}

}  // namespace lode::emulator::driver
