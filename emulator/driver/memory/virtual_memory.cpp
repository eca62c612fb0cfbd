#include "emulator/driver/memory/virtual_memory.hpp"

#include "emulator/driver/memory/allocations.hpp"

#include <algorithm>
#include <utility>

namespace lode::emulator::driver {

PhysicalMemory::~PhysicalMemory() {
    account.give_back(device, file.bytes());
}

std::uint64_t VirtualMemory::reserve(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t address = memory_.reserve(bytes, std::max(alignment, granularity));
    if (address != 0) ranges_.emplace(address, bytes);
    return address;
}

bool VirtualMemory::free(std::uint64_t address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto range = ranges_.find(address);
    if (range == ranges_.end() || range->second != bytes) return false;
    const auto mapping = mappings_.lower_bound(address);
    if (mapping != mappings_.end() && mapping->first - address < bytes) return false;
    if (!memory_.unreserve(address, bytes)) return false;
    ranges_.erase(range);
    return true;
}

bool VirtualMemory::map(Mapping mapping) {
    const std::lock_guard lock(mutex_);
    auto range = ranges_.upper_bound(mapping.address);
    if (range == ranges_.begin()) return false;
    --range;
    const std::uint64_t into = mapping.address - range->first;
    if (into >= range->second || mapping.bytes > range->second - into) return false;
    const auto next = mappings_.lower_bound(mapping.address);
    if (next != mappings_.end() && next->first - mapping.address < mapping.bytes) return false;
    if (next != mappings_.begin()) {
        const Mapping& before = std::prev(next)->second;
        if (mapping.address - before.address < before.bytes) return false;
    }
    mappings_.emplace(mapping.address, std::move(mapping));
    return true;
}

VirtualMemory::Mappings::iterator VirtualMemory::covering_locked(std::uint64_t address,
                                                                 std::size_t bytes) {
    const auto first = mappings_.find(address);
    std::size_t covered = 0;
    for (auto at = first; at != mappings_.end() && covered < bytes; ++at) {
        if (at->first != address + covered) break;
        covered += at->second.bytes;
    }
    return bytes > 0 && covered == bytes ? first : mappings_.end();
}

bool VirtualMemory::unmap(std::uint64_t address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto at = covering_locked(address, bytes);
    if (at == mappings_.end()) return false;
    while (at != mappings_.end() && at->first - address < bytes) {
        if (!at->second.devices.empty()) memory_.unmap(at->first);
        at = mappings_.erase(at);
    }
    return true;
}

CUresult VirtualMemory::set_access(std::uint64_t address, std::size_t bytes, int device,
                                   bool access) {
    const std::lock_guard lock(mutex_);
    auto at = covering_locked(address, bytes);
    if (at == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
    for (; at != mappings_.end() && at->first - address < bytes; ++at) {
        Mapping& mapping = at->second;
        const bool before = !mapping.devices.empty();
        if (!access) {
            mapping.devices.erase(device);
            if (before && mapping.devices.empty()) memory_.unmap(mapping.address);
            continue;
        }
        if (!before &&
            !memory_.map(mapping.address, mapping.bytes, mapping.physical->file.descriptor(),
                         mapping.offset, "cuMemMap", mapping.physical->device))
            return CUDA_ERROR_OUT_OF_MEMORY;
        mapping.devices.insert(device);
    }
    return CUDA_SUCCESS;
}

std::optional<Mapping> VirtualMemory::find(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    auto next = mappings_.upper_bound(address);
    if (next == mappings_.begin()) return std::nullopt;
    const Mapping& mapping = std::prev(next)->second;
    if (address - mapping.address >= mapping.bytes) return std::nullopt;
    return mapping;
}

std::size_t VirtualMemory::ranges() const {
    const std::lock_guard lock(mutex_);
    return ranges_.size();
}

}  // namespace lode::emulator::driver
