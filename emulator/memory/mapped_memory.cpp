// The part of Memory that reserves addresses and maps physical memory at them.
#include "base/align_up.hpp"
#include "base/os/memory.hpp"
#include "emulator/memory/memory.hpp"
#include "emulator/memory/page.hpp"

#include <algorithm>
#include <mutex>

namespace lode::emulator {

bool Memory::map_own_zeros(std::uint64_t address, std::size_t bytes) noexcept {
    if (map_arena(reinterpret_cast<void*>(address), bytes, file_offset(address)) == nullptr)
        return false;
    discard_pages(address, bytes);
    return true;
}

std::uint64_t Memory::take_aligned_locked(std::size_t bytes, std::size_t multiple) {
    const auto base = reinterpret_cast<std::uint64_t>(base_);
    const std::uint64_t top = base + top_;
    const std::uint64_t end = base + reservation_;
    const std::uint64_t at = align_up(top, multiple);
    if (at <= end && bytes <= end - at) {
        if (at > top) holes_.emplace(at - top, top);
        top_ = at + bytes - base;
        return at;
    }
    for (auto hole = holes_.lower_bound(bytes); hole != holes_.end(); ++hole) {
        const auto [span, lo] = *hole;
        const std::uint64_t start = align_up(lo, multiple);
        if (start - lo > span - bytes) continue;
        holes_.erase(hole);
        if (start > lo) holes_.emplace(start - lo, lo);
        if (const std::size_t rest = span - (start - lo) - bytes; rest > 0)
            holes_.emplace(rest, start + bytes);
        return start;
    }
    if (quarantined_ == 0) return 0;
    recycle_locked(quarantined_);
    return take_aligned_locked(bytes, multiple);
}

std::uint64_t Memory::reserve(std::size_t bytes, std::size_t multiple) {
    if (bytes == 0 || bytes > reservation_ || bytes % page_bytes() != 0) return 0;
    const std::size_t aligned = std::max(multiple, page_bytes());
    if (aligned > reservation_ || (aligned & (aligned - 1)) != 0) return 0;
    const std::unique_lock lock(mutex_);
    const std::uint64_t address = take_aligned_locked(bytes, aligned);
    if (address != 0) ranges_.emplace(address, bytes);
    return address;
}

bool Memory::reserved_locked(std::uint64_t address, std::size_t bytes) const noexcept {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return false;
    --range;
    const std::uint64_t into = address - range->first;
    return into < range->second && bytes <= range->second - into;
}

bool Memory::unreserve(std::uint64_t address, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    const auto range = ranges_.find(address);
    if (range == ranges_.end() || range->second != bytes) return false;
    const auto inside = records_.lower_bound(address);
    if (inside != records_.end() && inside->first - address < bytes) return false;
    ranges_.erase(range);
    // In quarantine like freed memory, so that a use after the end of the range is found.
    quarantine_locked(address, Record{Allocation{address, bytes, MemoryKind::mapped, 0, true,
                                                 ++serial_, "cuMemAddressReserve"},
                                      bytes});
    return true;
}

bool Memory::map(std::uint64_t address, std::size_t bytes, int file, std::size_t offset,
                 std::string_view label, int owner) {
    if (bytes == 0 || address % page_bytes() != 0 || bytes % page_bytes() != 0 ||
        offset % page_bytes() != 0)
        return false;
    const std::unique_lock lock(mutex_);
    if (!reserved_locked(address, bytes) || record_at(address) != nullptr) return false;
    const auto next = records_.lower_bound(address);
    if (next != records_.end() && next->first - address < bytes) return false;
    if (os::map_file(file, offset, bytes, reinterpret_cast<void*>(address)) == nullptr)
        return false;
    records_[address] = Record{
        Allocation{address, bytes, MemoryKind::mapped, owner, false, ++serial_, std::string(label)},
        bytes};
    if (written_) written_->mark(address, bytes);
    return true;
}

bool Memory::unmap(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    const auto found = records_.find(address);
    if (found == records_.end() || found->second.allocation.freed ||
        found->second.allocation.kind != MemoryKind::mapped)
        return false;
    if (!map_own_zeros(address, found->second.allocation.bytes)) return false;
    records_.erase(found);
    epoch_.fetch_add(1, std::memory_order_release);
    return true;
}

std::uint64_t Memory::import(int file, std::size_t offset, std::size_t bytes,
                             std::string_view label, int owner) {
    const std::size_t page = page_bytes();
    const std::size_t into = offset % page;
    if (bytes == 0 || bytes > reservation_) return 0;
    const std::size_t mapped = align_up(into + bytes, page);
    const std::unique_lock lock(mutex_);
    // An unused page after it keeps an overrun out of the next allocation.
    const std::uint64_t first = take_aligned_locked(mapped + page, page);
    if (first == 0) return 0;
    if (os::map_file(file, offset - into, mapped, reinterpret_cast<void*>(first)) == nullptr) {
        holes_.emplace(mapped + page, first);
        return 0;
    }
    const std::uint64_t address = first + into;
    records_[address] = Record{Allocation{address, bytes, MemoryKind::imported, owner, false,
                                          ++serial_, std::string(label)},
                               mapped + page};
    if (written_) written_->mark(address, bytes);
    return address;
}

bool Memory::remove_import(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    const auto found = records_.find(address);
    if (found == records_.end() || found->second.allocation.freed ||
        found->second.allocation.kind != MemoryKind::imported)
        return false;
    Record record = found->second;
    const std::size_t page = page_bytes();
    const std::uint64_t first = address / page * page;
    if (!map_own_zeros(first, record.span - page)) return false;
    records_.erase(found);
    record.allocation.address = first;
    record.allocation.bytes = record.span - page;
    quarantine_locked(first, std::move(record));
    return true;
}

}  // namespace lode::emulator
