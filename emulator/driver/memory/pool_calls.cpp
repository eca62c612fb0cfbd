// cuMemPool…, cuDeviceGetDefaultMemPool and similar calls.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/host_value.hpp"

namespace lode::emulator::driver {
namespace {

using Pools = Handles<MemoryPool, CUmemoryPool>;

bool is_default(const MemoryPool& pool) {
    const Device* device = driver().device(pool.device);
    if (pool.permanent) return true;
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

/// Whether there is such a place; the host is one node.
bool exists(const CUmemLocation& location) {
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            return driver().device(location.id) != nullptr;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
            return location.id == 0;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return true;
        default:
            return false;
    }
}

/// The kind of memory that pools of a type have at a location; INVALID_VALUE if there are none.
CUresult kind_at(const CUmemLocation& location, CUmemAllocationType type, MemoryKind& kind) {
    const bool nowhere = location.type == CU_MEM_LOCATION_TYPE_INVALID;
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) {
        kind = MemoryKind::managed;  // Without a preferred location, it is nowhere.
        return nowhere || exists(location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    if (type != CU_MEM_ALLOCATION_TYPE_PINNED || !exists(location)) return CUDA_ERROR_INVALID_VALUE;
    kind = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? MemoryKind::device : MemoryKind::pinned;
    return CUDA_SUCCESS;
}

/// The same for calls on the pools that a location has.
CUresult kind_of_current(const CUmemLocation* location, CUmemAllocationType type,
                         MemoryKind& kind) {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) return CUDA_ERROR_NOT_SUPPORTED;
    return kind_at(*location, type, kind);
}

/// Makes a pool the current one of its own place.
void make_current(const MemoryPool& pool) {
    auto* const handle = Pools::native_of(pool);
    if (pool.kind == MemoryKind::device) {
        driver().device(pool.device)->pool = handle;
    } else {
        driver().pool_places.set(pool.location, pool.kind, handle);
    }
}

CUresult pool_of_location(const char* symbol, CUmemoryPool* out, const CUmemLocation* location,
                          CUmemAllocationType type, bool current_one) {
    return enter(symbol, [&]() -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        MemoryKind kind = MemoryKind::device;
        if (const CUresult state = kind_of_current(location, type, kind); state != CUDA_SUCCESS)
            return state;
        if (kind != MemoryKind::device) {
            *out = driver().pool_places.get(*location, kind, current_one);
            return CUDA_SUCCESS;
        }
        const Device& device = *driver().device(location->id);
        *out = current_one ? device.pool.load() : Pools::native_of(*device.default_pool);
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
        MemoryKind kind = MemoryKind::device;
        if (const CUresult state = kind_of_current(location, type, kind); state != CUDA_SUCCESS)
            return state;
        const bool is_there =
            chosen.kind == kind && chosen.location.type == location->type &&
            (location->type == CU_MEM_LOCATION_TYPE_HOST || chosen.location.id == location->id);
        if (!is_there || chosen.imported) return CUDA_ERROR_INVALID_VALUE;
        make_current(chosen);
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
        make_current(chosen);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
    return enter(__func__, [&]() -> CUresult {
        if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const CUmemLocation& place = poolProps->location;
        MemoryKind kind = MemoryKind::device;
        if (const CUresult state = kind_at(place, poolProps->allocType, kind);
            state != CUDA_SUCCESS)
            return state;
        if (kind == MemoryKind::pinned && place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
            return CUDA_ERROR_INVALID_VALUE;
        const bool shared = poolProps->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        if (kind != MemoryKind::device && poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE) {
            if (shared && kind == MemoryKind::pinned &&
                place.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
                return gate::refuse("pools of the host for several processes");
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!shared && poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
            return CUDA_ERROR_NOT_SUPPORTED;
        auto made = std::make_shared<MemoryPool>(place, kind, poolProps->maxSize);
        if (shared && !make_shareable(*made)) return CUDA_ERROR_OPERATING_SYSTEM;
        *pool = driver().pools.add(std::move(made));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolDestroy(CUmemoryPool pool) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto found = driver().pools.find(pool);
        if (found == nullptr || is_default(*found)) return CUDA_ERROR_INVALID_VALUE;
        if (Device* const device = driver().device(found->device); device != nullptr) {
            CUmemoryPool current = pool;
            device->pool.compare_exchange_strong(current, Pools::native_of(*device->default_pool));
        }
        driver().pool_places.forget(pool);
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
            const CUmemLocation& place = map[i].location;
            const bool on_device = place.type == CU_MEM_LOCATION_TYPE_DEVICE;
            if (!on_device && !exists(place)) return CUDA_ERROR_INVALID_VALUE;
            if (on_device && driver().device(place.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
            const bool none = map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
            if (!none && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                return CUDA_ERROR_NOT_SUPPORTED;
            if (none && on_device && found.kind == MemoryKind::device && place.id == found.device)
                return CUDA_ERROR_INVALID_DEVICE;
            // Memory of devices can't be given to the host, nor the host's memory taken from it.
            if (!on_device && found.kind != MemoryKind::managed &&
                (found.kind == MemoryKind::device || none))
                return CUDA_ERROR_NOT_SUPPORTED;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
                found.set_access(map[i].location.id, map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
        }
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool,
                              CUmemLocation* location) {
    return enter_pool(__func__, memPool, [&](MemoryPool& found) -> CUresult {
        if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const bool on_device = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
        if (!on_device && !exists(*location)) return CUDA_ERROR_INVALID_VALUE;
        if (on_device && driver().device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        const bool has =
            on_device ? found.accessible_from(location->id) : found.kind == MemoryKind::pinned;
        *flags = has ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
