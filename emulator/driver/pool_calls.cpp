// cuMemPool…, cuDeviceGetDefaultMemPool and similar calls.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/host_value.hpp"

namespace lode::emulator::driver {
namespace {

using Pools = Handles<MemoryPool, CUmemoryPool>;

bool is_default(const MemoryPool& pool) {
    const Device* device = driver().device(pool.device);
    return device != nullptr && device->default_pool.get() == &pool;
}

template <class Body>
CUresult enter_pool(const char* symbol, CUmemoryPool handle, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const auto pool = driver().pools.find(handle);
        return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*pool);
    });
}

/// Reads or writes one attribute; `value` points to an int or a cuuint64_t, depending on the
/// attribute.
CUresult attribute(MemoryPool& pool, CUmemPool_attribute which, void* value, bool write) {
    const auto flag = [&](std::atomic<int>& field) {
        if (!write) return store<int>(value, field);
        field = load<int>(value);
        return CUDA_SUCCESS;
    };
    const auto high_mark = [&](std::atomic<std::uint64_t>& high, std::uint64_t now) {
        if (!write) return store<cuuint64_t>(value, high);
        if (load<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        high = now;
        return CUDA_SUCCESS;
    };
    switch (which) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            return flag(pool.follow_event_dependencies);
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            return flag(pool.allow_opportunistic);
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            return flag(pool.allow_internal_dependencies);
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            if (!write) return store<cuuint64_t>(value, pool.release_threshold);
            pool.release_threshold = load<cuuint64_t>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            return write ? CUDA_ERROR_INVALID_VALUE : store<cuuint64_t>(value, pool.used);
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            return write ? CUDA_ERROR_INVALID_VALUE : store<cuuint64_t>(value, pool.reserved);
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return high_mark(pool.used_high, pool.used);
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return high_mark(pool.reserved_high, pool.reserved);
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

/// Gives a pool a token, and a file that stands for it in other processes; false if the system
/// refuses.
bool make_shareable(MemoryPool& pool) {
    pool.file = MemoryFile::create(sizeof(IpcToken), pool_file_label);
    const auto token = pool.file.view<IpcToken>();
    if (token == nullptr) return false;
    pool.token = make_token();
    *token = pool.token;
    return true;
}

CUresult pool_of_device(const char* symbol, CUmemoryPool* out, CUdevice dev, bool current_one) {
    return enter(symbol, [&]() -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *out = current_one ? device->pool.load() : Pools::native_of(*device->default_pool);
        return CUDA_SUCCESS;
    });
}

/// The device whose pools a location and a type name; the error otherwise. Only devices have pools,
/// and only pinned ones.
CUresult device_at(const CUmemLocation* location, CUmemAllocationType type, Device*& found) {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) return gate::refuse("pools of managed memory");
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    switch (location->type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            found = driver().device(location->id);
            return found == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
            return gate::refuse("memory pools on the host");
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult pool_of_location(const char* symbol, CUmemoryPool* out, const CUmemLocation* location,
                          CUmemAllocationType type, bool current_one) {
    return enter(symbol, [&]() -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        Device* device = nullptr;
        if (const CUresult state = device_at(location, type, device); state != CUDA_SUCCESS)
            return state;
        *out = current_one ? device->pool.load() : Pools::native_of(*device->default_pool);
        return CUDA_SUCCESS;
    });
}

}  // namespace

LODE_ENTRY cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location,
                                  CUmemAllocationType type) {
    return pool_of_location(__func__, pool_out, location, type, false);
}

LODE_ENTRY cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
    return pool_of_location(__func__, pool, location, type, true);
}

LODE_ENTRY cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
    return enter_pool(__func__, pool, [&](MemoryPool& chosen) -> CUresult {
        Device* device = nullptr;
        if (const CUresult state = device_at(location, type, device); state != CUDA_SUCCESS)
            return state;
        if (chosen.device != location->id || chosen.imported) return CUDA_ERROR_INVALID_VALUE;
        device->pool = Pools::native_of(chosen);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
    return pool_of_device(__func__, pool_out, dev, false);
}

LODE_ENTRY cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
    return pool_of_device(__func__, pool, dev, true);
}

LODE_ENTRY cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
    return enter_pool(__func__, pool, [&](MemoryPool& chosen) -> CUresult {
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (chosen.device != dev || chosen.imported) return CUDA_ERROR_INVALID_VALUE;
        device->pool = Pools::native_of(chosen);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
    return enter(__func__, [&]() -> CUresult {
        if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (poolProps->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED)
            return gate::refuse("pools of managed memory");
        if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
        if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return gate::refuse("memory pools on the host");
        const bool shared = poolProps->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        if (!shared && poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (driver().device(poolProps->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        auto made = std::make_shared<MemoryPool>(poolProps->location.id, poolProps->maxSize);
        if (shared && !make_shareable(*made)) return CUDA_ERROR_OPERATING_SYSTEM;
        *pool = driver().pools.add(std::move(made));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolDestroy(CUmemoryPool pool) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto found = driver().pools.find(pool);
        if (found == nullptr || is_default(*found)) return CUDA_ERROR_INVALID_VALUE;
        Device* device = driver().device(found->device);
        CUmemoryPool current = pool;
        device->pool.compare_exchange_strong(current, Pools::native_of(*device->default_pool));
        driver().pools.remove(pool);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
    return enter_pool(__func__, pool, [&](MemoryPool& found) {
        found.trim(minBytesToKeep);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
    return enter_pool(__func__, pool, [&](MemoryPool& found) {
        return value == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(found, attr, value, true);
    });
}

LODE_ENTRY cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
    return enter_pool(__func__, pool, [&](MemoryPool& found) {
        return value == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(found, attr, value, false);
    });
}

// Access is only recorded, since all devices share one address space.

LODE_ENTRY cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
    return enter_pool(__func__, pool, [&](MemoryPool& found) -> CUresult {
        if (map == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
        for (std::size_t i = 0; i < count; ++i) {
            if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
            if (driver().device(map[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
            const bool none = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
            if (!none && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                return CUDA_ERROR_INVALID_VALUE;
            if (none && map[i].location.id == found.device) return CUDA_ERROR_INVALID_DEVICE;
        }
        for (std::size_t i = 0; i < count; ++i)
            found.set_access(map[i].location.id, map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool,
                              CUmemLocation* location) {
    return enter_pool(__func__, memPool, [&](MemoryPool& found) -> CUresult {
        if (flags == nullptr || location == nullptr ||
            location->type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        if (driver().device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *flags = found.accessible_from(location->id) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                     : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
