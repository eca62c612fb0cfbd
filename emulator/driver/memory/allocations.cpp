#include "emulator/driver/memory/allocations.hpp"

#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/log.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

bool is_host(MemoryKind kind) noexcept {
    return kind == MemoryKind::pinned || kind == MemoryKind::registered;
}

/// How memory of a kind is freed, as the end of a sentence.
std::string_view how_to_free(MemoryKind kind) noexcept {
    switch (kind) {
        case MemoryKind::device:
        case MemoryKind::managed:
            return "must be freed with cuMemFree";
        case MemoryKind::pinned:
            return "must be freed with cuMemFreeHost";
        case MemoryKind::registered:
            return "must be unregistered with cuMemHostUnregister";
        case MemoryKind::module_data:
            return "is freed with its module";
        case MemoryKind::heap:
            return "must be freed by free in a kernel";
        case MemoryKind::mapped:
            return "must be unmapped with cuMemUnmap";
        case MemoryKind::imported:
            return "must be closed by the call that belongs to its import";
    }
    return "can't be freed";
}

/// Tells an allocation's pool that it isn't used any more.
void count_no_more(const AllocationInfo& info) {
    if (info.pool == nullptr || !info.is_counted) return;
    if (const auto pool = driver().pools.find(info.pool)) pool->remove(info.bytes);
}

}  // namespace

void MemoryPool::add(std::size_t bytes) noexcept {
    const auto raise = [](std::atomic<std::uint64_t>& field, std::uint64_t least) {
        std::uint64_t now = field;
        while (now < least && !field.compare_exchange_weak(now, least)) {
        }
    };
    const std::uint64_t now = used.fetch_add(bytes) + bytes;
    raise(used_high, now);
    raise(reserved, in_chunks(now));
    raise(reserved_high, reserved);
}

void MemoryPool::trim(std::uint64_t keep) noexcept {
    reserved = in_chunks(std::max(used.load(), std::min(reserved.load(), keep)));
}

std::uint64_t MemoryPool::in_chunks(std::uint64_t bytes) const noexcept {
    const std::uint64_t whole = (bytes + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
    return limit == 0 ? whole : std::min(whole, limit);
}

bool MemoryPool::accessible_from(int peer) const {
    const std::lock_guard lock(mutex_);
    return (kind == MemoryKind::device && peer == device) || peers_.contains(peer);
}

void MemoryPool::set_access(int peer, bool accessible) {
    const std::lock_guard lock(mutex_);
    if (accessible) {
        peers_.insert(peer);
    } else {
        peers_.erase(peer);
    }
}

std::optional<std::uint64_t> Allocations::allocate(Context& context, std::size_t bytes,
                                                   MemoryKind kind, std::string_view label,
                                                   unsigned flags, CUmemoryPool pool) {
    const int device = context.device().ordinal;
    const std::unique_lock lock(mutex_);
    const std::size_t total = context.device().total_memory();
    if (!is_host(kind) && bytes > total - std::min(total, used_[device])) return std::nullopt;
    const auto account = pool == nullptr ? nullptr : driver().pools.find(pool);
    if (account != nullptr && !account->has_room(bytes)) return std::nullopt;
    const std::uint64_t address =
        memory_.allocate(bytes, kind, label, context.id(), gate::current_call());
    if (address == 0) return std::nullopt;
    AllocationInfo info{address, bytes, kind, context.shared_from_this(), flags, ++serial_, pool};
    if (account != nullptr && account->is_shared())
        info.handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (!is_host(kind)) used_[device] += bytes;
    if (account != nullptr) account->add(bytes);
    table_.emplace(address, info);
    return address;
}

void Allocations::release_locked(const AllocationInfo& info) {
    if (!is_host(info.kind)) used_[info.context->device().ordinal] -= info.bytes;
    count_no_more(info);
    table_.erase(info.address);
}

CUresult Allocations::free(std::uint64_t address, std::initializer_list<MemoryKind> kinds) {
    const std::unique_lock lock(mutex_);
    return free_locked(address, kinds);
}

CUresult Allocations::free_locked(std::uint64_t address, std::initializer_list<MemoryKind> kinds) {
    const auto found = table_.find(address);
    const auto is_meant = [&](const AllocationInfo& info) {
        // Memory of a pool of the host isn't that of cuMemAllocHost.
        const bool of_pool = info.pool != nullptr && info.kind == MemoryKind::pinned;
        const MemoryKind kind = of_pool ? MemoryKind::device : info.kind;
        return !info.freeing && std::ranges::find(kinds, kind) != std::end(kinds);
    };
    const bool ours = found != table_.end() && is_meant(found->second);
    if (ours && found->second.graph_account != nullptr) {
        give_back_to_graph(found->second);
        return CUDA_SUCCESS;
    }
    if (!ours || memory_.free(address) != FreeOutcome::freed) return refuse_free_locked(address);
    release_locked(AllocationInfo(found->second));
    return CUDA_SUCCESS;
}

void Allocations::finish_free(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end()) return;                   // Its context has ended.
    if (found->second.graph_account != nullptr) return;  // Its graph keeps it.
    found->second.freeing = false;
    free_locked(address, {MemoryKind::device, MemoryKind::managed});
}

CUresult Allocations::refuse_free_locked(std::uint64_t address) const {
    std::string why = "it isn't in any allocation and may be a host pointer";
    if (const Location place = memory_.locate(address); place.inside) {
        const Allocation& in = *place.inside;
        const auto row = table_.find(in.address);
        if (in.address != address) {
            why = fmt::format("it is {} into the {}, {}", bytes_text(address - in.address),
                              describe(in),
                              in.freed ? "which has already been freed"
                                       : "and only its start address can be freed");
        } else if (in.freed) {
            why = fmt::format("the {} has already been freed", describe(in));
        } else if (row != table_.end() && row->second.freeing) {
            why = fmt::format("a stream is already freeing the {}", describe(in));
        } else {
            why = fmt::format("it is the {}, which {}", describe(in), how_to_free(in.kind));
        }
    }
    log::report(fmt::format("The address {:#x} can't be freed: {}.", address, why));
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult Allocations::begin_free(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end() || found->second.freeing ||
        (found->second.kind != MemoryKind::device && found->second.pool == nullptr))
        return refuse_free_locked(address);
    if (found->second.graph_account != nullptr) {
        give_back_to_graph(found->second);
    } else {
        found->second.freeing = true;
        // The stream's next allocation may have the memory.
        count_no_more(found->second);
        found->second.is_counted = false;
    }
    return CUDA_SUCCESS;
}

std::optional<std::uint64_t> Allocations::reserve_for_graph(Context& context, std::size_t bytes) {
    const auto address = allocate(context, bytes, MemoryKind::device, "a graph's node");
    if (!address) return std::nullopt;
    const std::unique_lock lock(mutex_);
    AllocationInfo& info = table_.at(*address);
    info.graph_account = context.device().graph_memory;
    info.freeing = true;
    return address;
}

bool Allocations::is_claimed(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    const auto found = table_.find(address);
    return found != table_.end() && !found->second.freeing;
}

void Allocations::claim(std::uint64_t address) {
    const std::unique_lock lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end()) return;  // Its context has ended.
    found->second.freeing = false;
    found->second.graph_account->add(found->second.bytes);
}

void Allocations::give_back_to_graph(AllocationInfo& info) noexcept {
    info.freeing = true;
    info.graph_account->remove(info.bytes);
}

void Allocations::leave_graph(std::uint64_t address) noexcept {
    const std::unique_lock lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end() || found->second.graph_account == nullptr) return;
    const bool unused = found->second.freeing;
    if (!unused) give_back_to_graph(found->second);
    found->second.graph_account = nullptr;
    found->second.freeing = false;
    if (unused) free_locked(address, {MemoryKind::device});
}

CUresult Allocations::register_host(Context& context, void* address, std::size_t bytes,
                                    unsigned flags) {
    const std::unique_lock lock(mutex_);
    if (!memory_.register_host(address, bytes, "cuMemHostRegister", context.id(),
                               gate::current_call()))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    const auto at = reinterpret_cast<std::uint64_t>(address);
    table_.emplace(at, AllocationInfo{at, bytes, MemoryKind::registered, context.shared_from_this(),
                                      flags, ++serial_});
    return CUDA_SUCCESS;
}

CUresult Allocations::unregister_host(void* address) {
    const std::unique_lock lock(mutex_);
    if (!memory_.unregister_host(address)) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    table_.erase(reinterpret_cast<std::uint64_t>(address));
    return CUDA_SUCCESS;
}

std::optional<AllocationInfo> Allocations::find(std::uint64_t address) const {
    {
        const std::shared_lock lock(mutex_);
        auto next = table_.upper_bound(address);
        if (next != table_.begin()) {
            const AllocationInfo& info = std::prev(next)->second;
            if (address - info.address < info.bytes) return info;
        }
    }
    if (auto import = driver().imports.find(address)) return import;
    if (const auto mapping = driver().virtual_memory.find(address)) {
        AllocationInfo info{mapping->address, mapping->bytes, MemoryKind::mapped,
                            driver().device(mapping->physical->device)->primary};
        info.handle_types = mapping->physical->handle_types;
        return info;
    }
    const auto allocation = memory_.find(address);
    if (!allocation || allocation->kind != MemoryKind::module_data) return std::nullopt;
    AllocationInfo info{allocation->address, allocation->bytes, allocation->kind, nullptr, 0,
                        allocation->serial};
    driver().contexts.for_each([&](Context& context) {
        if (context.id() == allocation->owner) info.context = context.shared_from_this();
    });
    return info.context == nullptr ? std::nullopt : std::optional(info);
}

CUresult Allocations::name(std::uint64_t address, IpcKind kind, IpcName& name) {
    const std::unique_lock lock(mutex_);
    auto next = table_.upper_bound(address);
    if (next == table_.begin()) return CUDA_ERROR_INVALID_VALUE;
    AllocationInfo& info = std::prev(next)->second;
    if (address - info.address >= info.bytes || info.kind != MemoryKind::device || info.freeing)
        return CUDA_ERROR_INVALID_VALUE;
    const auto pool = info.pool == nullptr ? nullptr : driver().pools.find(info.pool);
    const bool exportable =
        kind == IpcKind::memory ? info.pool == nullptr : pool != nullptr && pool->is_shared();
    if (!exportable) return CUDA_ERROR_INVALID_VALUE;
    if (info.ipc == nullptr)
        info.ipc = describe_part(memory_, info, kind, pool == nullptr ? IpcToken{} : pool->token);
    if (info.ipc == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
    name = info.ipc->name();
    return CUDA_SUCCESS;
}

bool Allocations::set_sync_memops(std::uint64_t address, bool value) {
    const std::unique_lock lock(mutex_);
    const auto found = table_.find(address);
    if (found == table_.end()) return false;
    found->second.sync_memops = value;
    return true;
}

void Allocations::take(int device, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    used_[device] += bytes;
}

bool Allocations::try_take(const Device& device, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    const std::size_t total = device.total_memory();
    std::size_t& used = used_[device.ordinal];
    if (bytes > total - std::min(total, used)) return false;
    used += bytes;
    return true;
}

void Allocations::give_back(int device, std::size_t bytes) {
    const std::unique_lock lock(mutex_);
    used_[device] -= bytes;
}

std::size_t Allocations::used(int device) const {
    const std::shared_lock lock(mutex_);
    const auto found = used_.find(device);
    return found == used_.end() ? 0 : found->second;
}

long Allocations::count(std::initializer_list<MemoryKind> kinds) const {
    const std::shared_lock lock(mutex_);
    return std::ranges::count_if(table_, [&](const auto& row) {
        return !row.second.freeing && std::ranges::find(kinds, row.second.kind) != std::end(kinds);
    });
}

std::vector<std::string> Allocations::describe_living() const {
    const std::shared_lock lock(mutex_, std::try_to_lock);
    if (!lock) return {};
    std::map<std::uint64_t, std::string> described;
    for (const auto& [address, info] : table_) {
        const bool counts = info.kind == MemoryKind::device || info.kind == MemoryKind::pinned ||
                            info.kind == MemoryKind::managed;
        const auto allocation = memory_.find(address);
        if (!counts || info.freeing || info.graph_account != nullptr || !allocation) continue;
        described[info.serial] =
            fmt::format("allocation {}, a {},", info.serial, describe(*allocation));
    }
    std::vector<std::string> texts;
    for (auto& [serial, text] : described)
        texts.push_back(std::move(text));
    return texts;
}

std::vector<std::string> Allocations::end_context(const Context& context) {
    const std::unique_lock lock(mutex_);
    std::vector<AllocationInfo> left;
    std::vector<std::string> described;
    for (const auto& [address, info] : table_)
        if (info.context.get() == &context) left.push_back(info);
    for (const AllocationInfo& info : left) {
        const auto allocation = memory_.find(info.address);
        if (allocation && !info.freeing)
            described.push_back(
                fmt::format("allocation {}, a {},", info.serial, describe(*allocation)));
        if (info.kind == MemoryKind::registered) {
            memory_.unregister_host(reinterpret_cast<void*>(info.address));
        } else {
            memory_.release(info.address);
        }
        release_locked(info);
    }
    // What kernels have allocated ends with the context too.
    struct HeapBlocks {
        std::size_t count = 0;
        std::size_t bytes = 0;
    };
    std::map<std::string, HeapBlocks> heap;
    for (const Allocation& block : memory_.living(context.id())) {
        if (block.kind != MemoryKind::heap) continue;
        HeapBlocks& blocks = heap[block.label];
        ++blocks.count;
        blocks.bytes += block.bytes;
        memory_.release(block.address);
    }
    for (const auto& [label, blocks] : heap) {
        described.push_back(fmt::format(
            "memory of the kernels' heap ({} in {}), from {},", bytes_text(blocks.bytes),
            blocks.count == 1 ? "1 block" : fmt::format("{} blocks", blocks.count), label));
    }
    return described;
}

}  // namespace lode::emulator::driver
