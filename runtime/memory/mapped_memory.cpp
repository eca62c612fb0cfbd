#include "base/align_up.hpp"
#include "base/os/file.hpp"
#include "runtime/memory/device_memory.hpp"
#include "runtime/memory/size.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/growable.hpp>
#include <lode/runtime/shared.hpp>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {

struct MappedMemory {
    struct Chunk {
        CUmemGenericAllocationHandle handle = 0;
        std::size_t offset = 0;
        std::size_t bytes = 0;
    };

    std::shared_ptr<DeviceState> device;
    NativeDevicePointer address = 0;
    std::size_t reserved = 0;
    std::size_t unit = 0;  ///< The granularity in bytes.
    std::vector<CUdevice> accessors;
    std::vector<Chunk> chunks;  ///< Without gaps from the start of the range.

    explicit MappedMemory(std::shared_ptr<DeviceState> its_device)
        : device(std::move(its_device)), accessors{device->device} {}
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;
    ~MappedMemory() {
        while (!chunks.empty())
            remove_last();
        if (address != 0) {
            destroy_in_context(*device, device->table().cuMemAddressFree, address, reserved);
        }
    }

    [[nodiscard]] std::size_t mapped() const noexcept {
        return chunks.empty() ? 0 : chunks.back().offset + chunks.back().bytes;
    }
    void remove_last() noexcept {
        const Chunk last = chunks.back();
        chunks.pop_back();
        destroy_in_context(*device, device->table().cuMemUnmap, address + last.offset, last.bytes);
        destroy_in_context(*device, device->table().cuMemRelease, last.handle);
    }
    /// Takes over the handle and maps it at the end of what is mapped.
    Status append(CUmemGenericAllocationHandle handle, std::size_t bytes);
};

namespace {

CUmemAllocationProp properties_on(const DeviceState& device, bool shareable) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device.device;
    properties.requestedHandleTypes =
        shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE;
    return properties;
}

CUmemAccessDesc access_of(CUdevice device, bool accessible) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = accessible ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return access;
}

Status require_mapping(const DeviceState& device, CUdevice_attribute attribute,
                       std::string_view what) {
    LODE_TRY(device.driver->require(device.table().cuMemAddressReserve, what));
    return require_attribute(device, attribute, what);
}

/// Reserves whole units for a number of elements.
Result<MappedMemoryHandle> reserve_units(const std::shared_ptr<DeviceState>& device,
                                         std::size_t count, std::size_t size, bool shareable) {
    if (count == 0)
        return fail(Errc::invalid_argument, "Mapped memory needs at least 1 element, not 0.");
    LODE_TRY_ASSIGN(const std::size_t bytes, bytes_of(count, size));
    const DriverTable& table = device->table();
    MappedMemoryHandle memory(new MappedMemory(device));
    const CUmemAllocationProp properties = properties_on(*device, shareable);
    LODE_TRY(call_in_context(*device, table.cuMemGetAllocationGranularity, &memory->unit,
                             &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    LODE_TRY_ASSIGN(
        memory->reserved,
        bytes_of(bytes / memory->unit + (bytes % memory->unit != 0 ? 1 : 0), memory->unit));
    constexpr unsigned long long no_flags = 0;
    NativeDevicePointer address = 0;
    LODE_TRY(call_in_context(*device, table.cuMemAddressReserve, &address, memory->reserved,
                             std::size_t{0}, NativeDevicePointer{0}, no_flags)
                 .map_error([&](Error error) {
                     return std::move(error).in(
                         fmt::format("reserving {} bytes of addresses", memory->reserved));
                 }));
    memory->address = address;
    return memory;
}

/// New physical memory, at the end of what is mapped.
Status append_new(MappedMemory& memory, std::size_t bytes, bool shareable) {
    DeviceState& device = *memory.device;
    const CUmemAllocationProp properties = properties_on(device, shareable);
    CUmemGenericAllocationHandle handle = 0;
    constexpr unsigned long long no_flags = 0;
    LODE_TRY(
        call_in_context(device, device.table().cuMemCreate, &handle, bytes, &properties, no_flags)
            .map_error([&](Error error) {
                return explain_out_of_memory(device, std::move(error), bytes)
                    .in("allocating mapped memory");
            }));
    return memory.append(handle, bytes);
}

}  // namespace

Status MappedMemory::append(CUmemGenericAllocationHandle handle, std::size_t bytes) {
    const DriverTable& table = device->table();
    const std::size_t offset = mapped();
    constexpr unsigned long long no_flags = 0;
    auto done = call_in_context(*device, table.cuMemMap, address + offset, bytes, std::size_t{0},
                                handle, no_flags);
    if (!done) {
        destroy_in_context(*device, table.cuMemRelease, handle);
        return done;
    }
    chunks.push_back({handle, offset, bytes});
    std::vector<CUmemAccessDesc> access;
    for (const CUdevice accessor : accessors)
        access.push_back(access_of(accessor, true));
    done = call_in_context(*device, table.cuMemSetAccess, address + offset, bytes,
                           static_cast<const CUmemAccessDesc*>(access.data()), access.size());
    if (!done) remove_last();
    return done;
}

void MappedMemoryDeleter::operator()(MappedMemory* memory) const noexcept {
    delete memory;
}

DeviceMemoryRef mapped_view(const MappedMemory* memory) noexcept {
    if (memory == nullptr) return {};
    return {memory->address, memory->device.get()};
}

std::size_t mapped_bytes(const MappedMemory* memory) noexcept {
    return memory == nullptr ? 0 : memory->mapped();
}

std::size_t reserved_bytes(const MappedMemory* memory) noexcept {
    return memory == nullptr ? 0 : memory->reserved;
}

Result<MappedMemoryHandle> reserve_mapped(const std::shared_ptr<DeviceState>& device,
                                          std::size_t count, std::size_t size) {
    LODE_TRY(require_mapping(*device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                             "Memory that grows in place"));
    return reserve_units(device, count, size, false);
}

Status resize_mapped(MappedMemory* memory, std::size_t bytes) {
    if (memory == nullptr) return fail_empty("buffer");
    if (bytes > memory->reserved) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} bytes exceed the {} bytes of reserved addresses.", bytes,
                                memory->reserved));
    }
    const std::size_t units = align_up(bytes, memory->unit);
    const OutsideCapture outside(*memory->device->driver);
    if (units > memory->mapped()) return append_new(*memory, units - memory->mapped(), false);
    if (memory->chunks.empty() || units > memory->chunks.back().offset) return {};
    LODE_TRY(call_in_context(*memory->device, memory->device->table().cuCtxSynchronize));
    while (!memory->chunks.empty() && memory->chunks.back().offset >= units)
        memory->remove_last();
    return {};
}

Status set_mapped_access(MappedMemory* memory, const DeviceState& peer, bool accessible) {
    if (memory == nullptr) return fail_empty("buffer");
    DeviceState& device = *memory->device;
    LODE_TRY(check_one_driver(peer, device));
    if (peer.device == device.device) {
        if (accessible) return {};
        return fail(Errc::invalid_argument,
                    fmt::format("{} can't lose the access to its own memory.", device.describe()));
    }
    LODE_TRY(require_access(peer, device));
    if (memory->mapped() != 0) {
        const CUmemAccessDesc access = access_of(peer.device, accessible);
        LODE_TRY(call_in_context(device, device.table().cuMemSetAccess, memory->address,
                                 memory->mapped(), &access, std::size_t{1}));
    }
    std::erase(memory->accessors, peer.device);
    if (accessible) memory->accessors.push_back(peer.device);
    return {};
}

Result<MappedMemoryHandle> create_shared(const std::shared_ptr<DeviceState>& device,
                                         std::size_t count, std::size_t size) {
    LODE_TRY(require_mapping(*device,
                             CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                             "Memory that is shared by descriptors"));
    LODE_TRY_ASSIGN(MappedMemoryHandle memory, reserve_units(device, count, size, true));
    LODE_TRY(append_new(*memory, memory->reserved, true));
    return memory;
}

Result<MappedMemoryHandle> import_shared(const std::shared_ptr<DeviceState>& device, int descriptor,
                                         std::size_t count, std::size_t size) {
    LODE_TRY(require_mapping(*device,
                             CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                             "Memory that is shared by descriptors"));
    if (!os::is_open(descriptor)) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} isn't an open file descriptor.", descriptor));
    }
    LODE_TRY_ASSIGN(MappedMemoryHandle memory, reserve_units(device, count, size, true));
    CUmemGenericAllocationHandle handle = 0;
    LODE_TRY(call_in_context(*device, device->table().cuMemImportFromShareableHandle, &handle,
                             reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
                 .map_error([&](Error error) {
                     return std::move(error).in(fmt::format(
                         "importing device memory from file descriptor {}", descriptor));
                 }));
    LODE_TRY(memory->append(handle, memory->reserved).map_error([&](Error error) {
        return std::move(error).in(
            fmt::format("mapping {} elements of {} bytes from another process; it may have created "
                        "fewer",
                        count, size));
    }));
    return memory;
}

Result<int> export_shared(const MappedMemory* memory) {
    if (memory == nullptr) return fail_empty("buffer");
    DeviceState& device = *memory->device;
    int descriptor = -1;
    constexpr unsigned long long no_flags = 0;
    LODE_TRY(call_in_context(device, device.table().cuMemExportToShareableHandle,
                             static_cast<void*>(&descriptor), memory->chunks.front().handle,
                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, no_flags));
    return descriptor;
}

}  // namespace LODE_NAMESPACE::detail
