// cuMemAddressReserve, cuMemCreate, cuMemMap and similar calls.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/host_value.hpp"

#include <bit>

namespace lode::emulator::driver {
namespace {

constexpr std::size_t mapping_unit = VirtualMemory::granularity;

/// The label of shared files of physical memory.
std::string file_label(const Device& device) {
    return "device_" + std::to_string(device.index);
}

bool is_whole(std::size_t bytes) noexcept {
    return bytes != 0 && bytes % mapping_unit == 0;
}

/// Memory on the host, and handles of other kinds than file descriptors, aren't supported.
CUresult check_properties(const CUmemAllocationProp* properties) {
    if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return gate::refuse("physical memory on the host");
    if (properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        properties->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return driver().device(properties->location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE
                                                               : CUDA_SUCCESS;
}

/// enter() with physical memory: body(std::shared_ptr<PhysicalMemory>).
template <class Body>
CUresult enter_physical(const char* symbol, CUmemGenericAllocationHandle handle,
                        Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        auto physical = driver().physical_memory.find(handle);
        return physical == nullptr ? CUDA_ERROR_INVALID_VALUE : body(std::move(physical));
    });
}

void wait_for_everything() {
    driver().contexts.for_each([](Context& context) { context.drain(); });
}

}  // namespace

LODE_ENTRY cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr,
                               unsigned long long flags) {
    // The wished address is a hint, which a driver may ignore.
    return enter(__func__, [&]() -> CUresult {
        const bool power = alignment == 0 || std::has_single_bit(alignment);
        if (ptr == nullptr || flags != 0 || !power || !is_whole(size))
            return CUDA_ERROR_INVALID_VALUE;
        const std::uint64_t address = driver().virtual_memory.reserve(size, alignment);
        if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
        *ptr = address;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    return enter_release(__func__, [&]() -> CUresult {
        return driver().virtual_memory.free(ptr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                         CUmemAllocationGranularity_flags option) {
    return enter(__func__, [&]() -> CUresult {
        if (granularity == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                       option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
            return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult wrong = check_properties(prop); wrong != CUDA_SUCCESS) return wrong;
        *granularity = mapping_unit;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                       const CUmemAllocationProp* prop, unsigned long long flags) {
    return enter(__func__, [&]() -> CUresult {
        if (handle == nullptr || flags != 0 || !is_whole(size)) return CUDA_ERROR_INVALID_VALUE;
        if (const CUresult wrong = check_properties(prop); wrong != CUDA_SUCCESS) return wrong;
        Driver& state = driver();
        const int device = prop->location.id;
        if (!state.allocations.try_take(*state.device(device), size))
            return CUDA_ERROR_OUT_OF_MEMORY;
        MemoryFile file = MemoryFile::create(size, file_label(*state.device(device)));
        if (!file) {
            state.allocations.give_back(device, size);
            return CUDA_ERROR_OPERATING_SYSTEM;
        }
        *handle = state.physical_memory.add(std::make_shared<PhysicalMemory>(
            state.allocations, device, std::move(file), prop->requestedHandleTypes));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemRelease(CUmemGenericAllocationHandle handle) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto physical = driver().physical_memory.find(handle);
        if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (--physical->references == 0) driver().physical_memory.remove(handle);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
    return enter(__func__, [&]() -> CUresult {
        if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto mapping = driver().virtual_memory.find(reinterpret_cast<CUdeviceptr>(addr));
        if (!mapping) return CUDA_ERROR_INVALID_VALUE;
        ++mapping->physical->references;
        *handle = driver().physical_memory.add(mapping->physical);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                  CUmemGenericAllocationHandle handle) {
    return enter_physical(__func__, handle, [&](const auto& physical) -> CUresult {
        if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *prop = CUmemAllocationProp{};
        prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop->location.id = physical->device;
        prop->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(physical->handle_types);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                    CUmemGenericAllocationHandle handle, unsigned long long flags) {
    return enter_physical(__func__, handle, [&](auto physical) -> CUresult {
        if (flags != 0 || offset != 0 || !is_whole(size) || ptr % mapping_unit != 0 ||
            size > physical->file.bytes())
            return CUDA_ERROR_INVALID_VALUE;
        const bool mapped =
            driver().virtual_memory.map(Mapping{ptr, size, offset, std::move(physical), {}});
        return mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuMemUnmap(CUdeviceptr ptr, size_t size) {
    return enter_release(__func__, [&]() -> CUresult {
        wait_for_everything();
        return driver().virtual_memory.unmap(ptr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
    return enter(__func__, [&]() -> CUresult {
        if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
        for (std::size_t i = 0; i < count; ++i) {
            if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
                return CUDA_ERROR_NOT_SUPPORTED;
            if (driver().device(desc[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
            if (desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
            if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
                desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
                return CUDA_ERROR_INVALID_VALUE;
        }
        for (std::size_t i = 0; i < count; ++i) {
            const bool access = desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            if (!access) wait_for_everything();
            if (const CUresult wrong =
                    driver().virtual_memory.set_access(ptr, size, desc[i].location.id, access);
                wrong != CUDA_SUCCESS)
                return wrong;
        }
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                          CUdeviceptr ptr) {
    return enter(__func__, [&]() -> CUresult {
        if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto mapping = driver().virtual_memory.find(ptr);
        if (!mapping || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        if (driver().device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        *flags = mapping->devices.contains(location->id) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                        CUmemAllocationHandleType handleType,
                                        unsigned long long flags) {
    return enter_physical(__func__, handle, [&](const auto& physical) -> CUresult {
        if (shareableHandle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
        if ((physical->handle_types & unsigned{handleType}) == 0) return CUDA_ERROR_INVALID_VALUE;
        const int descriptor = physical->file.duplicate();
        return descriptor < 0 ? CUDA_ERROR_OPERATING_SYSTEM : store(shareableHandle, descriptor);
    });
}

LODE_ENTRY cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                          CUmemAllocationHandleType shHandleType) {
    return enter(__func__, [&]() -> CUresult {
        if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
            return CUDA_ERROR_NOT_SUPPORTED;
        const auto descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(osHandle));
        Driver& state = driver();
        for (const auto& device : state.devices) {
            MemoryFile file = MemoryFile::import(descriptor, file_label(*device));
            if (!file) continue;
            // The exporting process has counted the memory; this one counts what it keeps alive.
            state.allocations.take(device->ordinal, file.bytes());
            *handle = state.physical_memory.add(std::make_shared<PhysicalMemory>(
                state.allocations, device->ordinal, std::move(file), unsigned{shHandleType}));
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_VALUE;
    });
}

}  // namespace lode::emulator::driver
