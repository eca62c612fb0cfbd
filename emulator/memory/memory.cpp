#include "emulator/memory/memory.hpp"

#include "base/align_up.hpp"
#include "base/os/memory.hpp"
#include "emulator/memory/page.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

namespace lode::emulator {

namespace {

/// Unused bytes between neighbours, so that an overrun doesn't reach the next allocation.
constexpr std::size_t gap = 256;
/// Freed ranges of at least this many bytes return their pages to the system.
constexpr std::size_t give_back_from = std::size_t{64} * 1024;

/// Whether only kernels and entry points write this memory, so that writes to it can be tracked.
bool is_watched(MemoryKind kind) noexcept {
    return kind == MemoryKind::device || kind == MemoryKind::heap;
}

}  // namespace

std::string_view to_string(MemoryKind kind) noexcept {
    // By MemoryKind.
    static constexpr std::string_view names[] = {"device",          "pinned host",    "managed",
                                                 "registered host", "module",         "kernel heap",
                                                 "mapped device",   "imported device"};
    static_assert(std::size(names) == static_cast<std::size_t>(MemoryKind::imported) + 1);
    return names[static_cast<std::size_t>(kind)];
}

bool is_apart(const Allocation& allocation) noexcept {
    return allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::pinned ||
           allocation.kind == MemoryKind::managed;
}

namespace {

/// "0x7f0000000000 (cuMemAlloc, driver call 12)"
std::string address_and_label(const Allocation& allocation) {
    std::string text = fmt::format("0x{:x}", allocation.address);
    if (!allocation.label.empty()) text += fmt::format(" ({}", allocation.label);
    if (!allocation.label.empty() && allocation.call != 0)
        text += fmt::format(", driver call {}", allocation.call);
    if (!allocation.label.empty()) text += ")";
    return text;
}

}  // namespace

std::string describe(const Allocation& allocation) {
    return fmt::format("{}-byte {} allocation at {}", allocation.bytes, to_string(allocation.kind),
                       address_and_label(allocation));
}

std::string origin_text(const Allocation& allocation) {
    return fmt::format("{} of {} memory at {}", bytes_text(allocation.bytes),
                       to_string(allocation.kind), address_and_label(allocation));
}

std::string bytes_text(std::uint64_t bytes) {
    return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
}

Memory::Memory(std::size_t reservation, std::size_t quarantine)
    : quarantine_limit_(quarantine),
      file_(os::make_memory_file("lode_emulator_memory", reservation)) {
    // This only reserves address space; where the system limits it, a smaller arena is reserved.
    for (std::size_t bytes = reservation; bytes >= (std::size_t{1} << 28); bytes /= 4) {
        void* const at = map_arena(nullptr, bytes, 0);
        if (at == nullptr) continue;
        base_ = static_cast<std::byte*>(at);
        reservation_ = bytes;
        return;
    }
}

void* Memory::map_arena(void* at, std::size_t bytes, std::size_t offset) noexcept {
    void* const mapped =
        file_ ? os::map_file(file_.get(), offset, bytes, at) : os::map_zeros(bytes, at);
    if (mapped != nullptr) os::leave_out_of_dumps(mapped, bytes);
    return mapped;
}

Memory::~Memory() {
    if (base_ != nullptr) os::unmap(base_, reservation_);
}

std::size_t Memory::alignment_of(std::size_t bytes) noexcept {
    return bytes > large ? 2 * large : alignment;
}

std::uint64_t Memory::take_locked(std::size_t span) {
    if (holes_.lower_bound(span) == holes_.end() && top_ + span > reservation_)
        recycle_locked(quarantined_);
    if (const auto hole = holes_.lower_bound(span); hole != holes_.end()) {
        const std::uint64_t address = hole->second;
        const std::size_t rest = hole->first - span;
        holes_.erase(hole);
        if (rest != 0) holes_.emplace(rest, address + span);
        return address;
    }
    if (top_ + span > reservation_) return 0;
    top_ += span;
    return reinterpret_cast<std::uint64_t>(base_) + top_ - span;
}

std::uint64_t Memory::allocate(std::size_t bytes, MemoryKind kind, std::string_view label,
                               int owner, std::uint64_t call) {
    if (bytes == 0 || bytes > reservation_) return 0;
    const std::size_t span = align_up(bytes + gap, Memory::alignment);
    const std::unique_lock lock(mutex_);
    const std::size_t multiple = alignment_of(bytes);
    const std::uint64_t address =
        multiple > alignment ? take_aligned_locked(span, multiple) : take_locked(span);
    if (address == 0) return 0;
    records_[address] = Record{
        Allocation{address, bytes, kind, owner, false, ++serial_, std::string(label), call}, span};
    if (written_) {
        written_->unmark(address, span);
        if (!is_watched(kind)) written_->mark(address, bytes);
    }
    return address;
}

FreeOutcome Memory::free(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    return release_locked(address, false);
}

FreeOutcome Memory::release(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    return release_locked(address, true);
}

FreeOutcome Memory::release_locked(std::uint64_t address, bool any_kind) {
    const Record* const found = record_at(address);
    if (found == nullptr) return FreeOutcome::unknown;
    const Allocation& allocation = found->allocation;
    if (allocation.address != address) return FreeOutcome::interior;
    if (allocation.freed) return FreeOutcome::double_free;
    if (allocation.kind == MemoryKind::registered || allocation.kind == MemoryKind::mapped ||
        allocation.kind == MemoryKind::imported)
        return FreeOutcome::wrong_kind;
    if (allocation.kind == MemoryKind::module_data && !any_kind) return FreeOutcome::wrong_kind;
    const Record record = *found;
    if (record.span >= give_back_from) discard_pages(address, record.span);
    quarantine_locked(address, record);
    return FreeOutcome::freed;
}

void Memory::quarantine_locked(std::uint64_t address, Record record) {
    record.allocation.freed = true;
    quarantined_ += record.span;
    quarantine_.push_back(address);
    records_[address] = std::move(record);
    epoch_.fetch_add(1, std::memory_order_release);
    if (quarantined_ > quarantine_limit_) recycle_locked(quarantined_ - quarantine_limit_ / 2);
}

void Memory::discard_pages(std::uint64_t address, std::size_t bytes) noexcept {
    const std::uint64_t lo = align_up(address, page_bytes());
    const std::uint64_t hi = (address + bytes) / page_bytes() * page_bytes();
    if (lo >= hi) return;
    auto* const at = reinterpret_cast<std::byte*>(lo);
    const bool discarded = file_ ? os::discard_part(file_.get(), file_offset(lo), hi - lo)
                                 : os::discard_pages(at, hi - lo);
    if (!discarded) std::fill_n(at, hi - lo, std::byte{0});
}

void Memory::clear(std::uint64_t address, std::size_t bytes) noexcept {
    const std::uint64_t lo = align_up(address, page_bytes());
    const std::uint64_t hi = (address + bytes) / page_bytes() * page_bytes();
    if (bytes < give_back_from || lo >= hi) {
        std::fill_n(reinterpret_cast<std::byte*>(address), bytes, std::byte{0});
        return;
    }
    std::fill_n(reinterpret_cast<std::byte*>(address), lo - address, std::byte{0});
    discard_pages(address, bytes);
    std::fill_n(reinterpret_cast<std::byte*>(hi), address + bytes - hi, std::byte{0});
}

// Removes the oldest freed ranges from quarantine, at least `wanted` bytes of them.
void Memory::recycle_locked(std::size_t wanted) {
    std::size_t done = 0;
    std::size_t count = 0;
    while (count < quarantine_.size() && done < wanted) {
        const auto at = records_.find(quarantine_[count++]);
        const std::uint64_t lo = at->first;
        const std::size_t span = at->second.span;
        clear(lo, span);
        holes_.emplace(span, lo);
        records_.erase(at);
        done += span;
    }
    quarantine_.erase(quarantine_.begin(), quarantine_.begin() + static_cast<long>(count));
    quarantined_ -= done;
}

bool Memory::register_host(void* address, std::size_t bytes, std::string_view label, int owner,
                           std::uint64_t call) {
    const auto lo = reinterpret_cast<std::uint64_t>(address);
    if (bytes == 0 || address == nullptr || bytes > ~lo) return false;
    const std::unique_lock lock(mutex_);
    const auto next = records_.lower_bound(lo);
    if (next != records_.end() && next->first < lo + bytes) return false;
    if (next != records_.begin() && std::prev(next)->second.allocation.end() > lo) return false;
    records_[lo] = Record{Allocation{lo, bytes, MemoryKind::registered, owner, false, ++serial_,
                                     std::string(label), call},
                          bytes};
    return true;
}

bool Memory::unregister_host(void* address) {
    const std::unique_lock lock(mutex_);
    const auto at = records_.find(reinterpret_cast<std::uint64_t>(address));
    if (at == records_.end() || at->second.allocation.kind != MemoryKind::registered) return false;
    records_.erase(at);
    epoch_.fetch_add(1, std::memory_order_release);
    return true;
}

bool Memory::watch_writes() {
    const std::unique_lock lock(mutex_);
    if (!written_) {
        written_ = WrittenBytes::over(reinterpret_cast<std::uint64_t>(base_), reservation_);
    }
    return written_ != nullptr;
}

void Memory::note_watched_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) noexcept {
    const std::shared_lock lock(mutex_);
    const Record* const target = record_at(to);
    // The host can write other memory directly; it always counts as written.
    if (target == nullptr || !is_watched(target->allocation.kind)) return;
    written_->copy(to, from, bytes);
}

const Memory::Record* Memory::record_at(std::uint64_t address) const noexcept {
    auto next = records_.upper_bound(address);
    if (next == records_.begin()) return nullptr;
    const Record& record = (--next)->second;
    return address < record.allocation.end() ? &record : nullptr;
}

std::optional<Allocation> Memory::find(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    const Record* const record = record_at(address);
    if (record == nullptr || record->allocation.freed) return std::nullopt;
    return record->allocation;
}

std::array<std::uint64_t, 2> Memory::bounds(std::uint64_t address) const noexcept {
    const std::shared_lock lock(mutex_);
    const Record* const record = record_at(address);
    if (record == nullptr || record->allocation.freed) return {0, 0};
    if (record->allocation.kind != MemoryKind::mapped)
        return {record->allocation.address, record->allocation.end()};
    const auto is_mapped = [](const auto& row) {
        return row.second.allocation.kind == MemoryKind::mapped && !row.second.allocation.freed;
    };
    const auto here = records_.find(record->allocation.address);
    auto first = here;
    while (first != records_.begin()) {
        const auto before = std::prev(first);
        if (!is_mapped(*before) || before->second.allocation.end() != first->first) break;
        first = before;
    }
    auto last = here;
    for (auto next = std::next(here); next != records_.end(); last = next++) {
        if (!is_mapped(*next) || next->first != last->second.allocation.end()) break;
    }
    return {first->first, last->second.allocation.end()};
}

Location Memory::locate(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    Location where;
    if (const Record* const record = record_at(address)) where.inside = record->allocation;
    where.reserved = !where.inside && reserved_locked(address, 1);
    auto at = records_.upper_bound(address);
    for (auto up = at; up != records_.end(); ++up) {
        if (up->second.allocation.freed) continue;
        where.above = up->second.allocation;
        break;
    }
    while (at != records_.begin()) {
        const Allocation& allocation = (--at)->second.allocation;
        if (allocation.freed || allocation.end() > address) continue;
        where.below = allocation;
        break;
    }
    return where;
}

std::uint64_t Memory::newest_serial() const {
    const std::shared_lock lock(mutex_);
    return serial_;
}

std::vector<Allocation> Memory::living(std::optional<int> owner) const {
    std::vector<Allocation> all;
    {
        const std::shared_lock lock(mutex_);
        for (const auto& [address, record] : records_) {
            const Allocation& allocation = record.allocation;
            if (!allocation.freed && (!owner || allocation.owner == *owner)) {
                all.push_back(allocation);
            }
        }
    }
    std::ranges::sort(all, {}, &Allocation::serial);
    return all;
}

std::size_t Memory::used(int owner) const {
    const std::shared_lock lock(mutex_);
    std::size_t total = 0;
    for (const auto& [address, record] : records_) {
        const Allocation& allocation = record.allocation;
        if (allocation.freed || allocation.kind == MemoryKind::registered) continue;
        if (allocation.owner == owner) total += allocation.bytes;
    }
    return total;
}

}  // namespace lode::emulator
