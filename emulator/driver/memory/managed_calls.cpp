// Advice, prefetches and attachments of managed memory.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/host_value.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace lode::emulator::driver {

ManagedHints::Hints::iterator ManagedHints::split_locked(std::uint64_t address) {
    const auto at = std::prev(hints_.upper_bound(address));
    if (at->first == address) return at;
    return hints_.emplace_hint(std::next(at), address, at->second);
}

void ManagedHints::change(std::uint64_t address, std::size_t bytes,
                          const std::function<void(ManagedHint&)>& edit) {
    const std::lock_guard lock(mutex_);
    const auto end = split_locked(address + bytes);
    for (auto at = split_locked(address); at != end; ++at)
        edit(at->second);
}

std::vector<ManagedHint> ManagedHints::of(std::uint64_t address, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    std::vector<ManagedHint> all;
    for (auto at = std::prev(hints_.upper_bound(address));
         at != hints_.end() && (all.empty() || at->first < address + bytes); ++at)
        all.push_back(at->second);
    return all;
}

void ManagedHints::forget(std::uint64_t address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto end = split_locked(address + bytes);
    const auto at = split_locked(address);
    at->second = {};
    hints_.erase(std::next(at), end);
}

namespace {

/// Checks that the whole range is managed memory.
CUresult check_managed(CUdeviceptr pointer, std::size_t bytes) {
    const auto info = driver().allocations.find(pointer);
    const bool inside = info && info->kind == MemoryKind::managed && bytes > 0 &&
                        bytes <= info->address + info->bytes - pointer;
    return inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_place(CUdevice place) {
    const bool known = place == CU_DEVICE_CPU || driver().device(place) != nullptr;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/// The device of a location; the host's nodes are all CU_DEVICE_CPU. nullopt for an unknown type.
std::optional<CUdevice> place_of_location(CUmemLocation location) {
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            return location.id < 0 ? CUdevice{CU_DEVICE_INVALID} : CUdevice{location.id};
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return CUdevice{CU_DEVICE_CPU};
        default:
            return std::nullopt;
    }
}

CUresult advise(CUdeviceptr pointer, std::size_t bytes, CUmem_advise advice, CUdevice place) {
    if (const CUresult wrong = check_managed(pointer, bytes); wrong != CUDA_SUCCESS) return wrong;
    const bool placed = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                        advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                        advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (placed) {
        if (const CUresult wrong = check_place(place); wrong != CUDA_SUCCESS) return wrong;
    }
    const auto change = [&](const auto& edit) {
        driver().managed_hints.change(pointer, bytes, edit);
        return CUDA_SUCCESS;
    };
    switch (advice) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY:
            return change([](ManagedHint& hint) { hint.read_mostly = true; });
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
            return change([](ManagedHint& hint) { hint.read_mostly = false; });
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
            return change([&](ManagedHint& hint) { hint.preferred = place; });
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
            return change([](ManagedHint& hint) { hint.preferred = CU_DEVICE_INVALID; });
        case CU_MEM_ADVISE_SET_ACCESSED_BY:
            return change([&](ManagedHint& hint) { hint.accessed_by.insert(place); });
        case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
            return change([&](ManagedHint& hint) { hint.accessed_by.erase(place); });
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

/// Moving pages has no effect, as all memory is the host's; the last destination is recorded.
CUresult prefetch(const char* symbol, CUdeviceptr pointer, std::size_t bytes, CUdevice place,
                  CUstream stream, DefaultStream null_means) {
    return enter_stream(symbol, stream, null_means, [&](const StreamUse&) -> CUresult {
        if (const CUresult wrong = check_managed(pointer, bytes); wrong != CUDA_SUCCESS)
            return wrong;
        if (const CUresult wrong = check_place(place); wrong != CUDA_SUCCESS) return wrong;
        driver().managed_hints.change(pointer, bytes,
                                      [&](ManagedHint& hint) { hint.prefetched = place; });
        return CUDA_SUCCESS;
    });
}

/// The value that all parts of a range share, or `mixed`.
template <class Value>
CUdevice common_place(const std::vector<ManagedHint>& hints, Value value, CUdevice mixed) {
    const CUdevice first = value(hints.front());
    const bool same =
        std::ranges::all_of(hints, [&](const ManagedHint& hint) { return value(hint) == first; });
    return same ? first : mixed;
}

CUresult range_attribute(void* data, std::size_t size, CUmem_range_attribute which,
                         CUdeviceptr pointer, std::size_t bytes) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult wrong = check_managed(pointer, bytes); wrong != CUDA_SUCCESS) return wrong;
    const auto hints = driver().managed_hints.of(pointer, bytes);
    if (which == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        if (size == 0 || size % sizeof(CUdevice) != 0) return CUDA_ERROR_INVALID_VALUE;
        std::set<CUdevice> everywhere = hints.front().accessed_by;
        for (const ManagedHint& hint : hints)
            std::erase_if(everywhere,
                          [&](CUdevice device) { return !hint.accessed_by.contains(device); });
        auto next = everywhere.begin();
        for (std::size_t i = 0; i < size / sizeof(CUdevice); ++i) {
            store(static_cast<std::byte*>(data) + i * sizeof(CUdevice),
                  next == everywhere.end() ? CUdevice{CU_DEVICE_INVALID} : *next++);
        }
        return CUDA_SUCCESS;
    }
    if (size != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
    const auto preferred = [](const ManagedHint& hint) { return hint.preferred; };
    const auto prefetched = [](const ManagedHint& hint) { return hint.prefetched; };
    const auto type_of = [](CUdevice place) {
        if (place == CU_DEVICE_INVALID) return int{CU_MEM_LOCATION_TYPE_INVALID};
        return place == CU_DEVICE_CPU ? int{CU_MEM_LOCATION_TYPE_HOST}
                                      : int{CU_MEM_LOCATION_TYPE_DEVICE};
    };
    constexpr CUdevice mixed = CU_DEVICE_INVALID;
    switch (which) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
            return store(
                data,
                common_place(
                    hints, [](const ManagedHint& hint) { return hint.read_mostly ? 1 : 0; }, 0));
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
            return store(data, common_place(hints, preferred, mixed));
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
            return store(data, common_place(hints, prefetched, mixed));
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
            return store(data, type_of(common_place(hints, preferred, mixed)));
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
            return store(data, type_of(common_place(hints, prefetched, mixed)));
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

LODE_ENTRY cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
    return enter_context(__func__, [&](Context&) { return advise(devPtr, count, advice, device); });
}

LODE_ENTRY cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                          CUmemLocation location) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        const bool unplaced = advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
                              advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                              advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
        const auto place = place_of_location(location);
        if (!place && !unplaced) return CUDA_ERROR_INVALID_VALUE;
        return advise(devPtr, count, advice, place.value_or(CU_DEVICE_INVALID));
    });
}

LODE_ENTRY_TWINS(cuMemPrefetchAsync, _ptsz,
                 (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream),
                 { return prefetch(__func__, devPtr, count, dstDevice, hStream, default_stream); })

LODE_ENTRY_TWINS(cuMemPrefetchAsync_v2, _ptsz,
                 (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                  CUstream hStream),
                 {
                     const auto place = place_of_location(location);
                     if (flags != 0 || !place) count = 0;
                     return prefetch(__func__, devPtr, count, place.value_or(CU_DEVICE_INVALID),
                                     hStream, default_stream);
                 })

LODE_ENTRY_TWINS(cuStreamAttachMemAsync, _ptsz,
                 (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags), {
                     return enter_stream(__func__, hStream, default_stream, [&](const StreamUse&) {
                         if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
                             flags != CU_MEM_ATTACH_SINGLE)
                             return CUDA_ERROR_INVALID_VALUE;
                         return check_managed(dptr, length == 0 ? 1 : length);
                     });
                 })

LODE_ENTRY cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                  CUdeviceptr devPtr, size_t count) {
    return enter_context(__func__, [&](Context&) {
        return range_attribute(data, dataSize, attribute, devPtr, count);
    });
}

LODE_ENTRY cuMemRangeGetAttributes(void** data, size_t* dataSizes,
                                   CUmem_range_attribute* attributes, size_t numAttributes,
                                   CUdeviceptr devPtr, size_t count) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (data == nullptr || dataSizes == nullptr || attributes == nullptr || numAttributes == 0)
            return CUDA_ERROR_INVALID_VALUE;
        for (std::size_t i = 0; i < numAttributes; ++i) {
            if (const CUresult wrong =
                    range_attribute(data[i], dataSizes[i], attributes[i], devPtr, count);
                wrong != CUDA_SUCCESS)
                return wrong;
        }
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
