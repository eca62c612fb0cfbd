// The driver's records of allocations, and memory pools.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/memory/ipc.hpp"
#include "emulator/memory/memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::driver {

class Context;
struct Device;

/// A stream-ordered pool: attributes and usage. The memory itself comes from the arena.
struct MemoryPool : Handled {
    explicit MemoryPool(int its_device, std::uint64_t its_limit = 0) noexcept
        : MemoryPool({CU_MEM_LOCATION_TYPE_DEVICE, its_device}, MemoryKind::device, its_limit) {}
    MemoryPool(CUmemLocation place, MemoryKind its_kind, std::uint64_t its_limit) noexcept
        : location(place),
          kind(its_kind),
          device(place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : -1),
          limit(its_limit) {}
    const CUmemLocation location;
    const MemoryKind kind;      ///< The kind of its memory: device, pinned or managed.
    const int device;           ///< -1 for pools elsewhere.
    const std::uint64_t limit;  ///< The most used bytes; 0 for no limit.
    MemoryFile file{};          ///< What a descriptor of a shared pool is of; holds the token.
    IpcToken token{};           ///< Names a shared pool in every process; zeros for others.
    bool imported = false;      ///< From another process: nothing can be allocated from it.
    bool permanent = false;     ///< The default pool of its place.
    std::atomic<std::uint64_t> release_threshold{0};
    std::atomic<std::uint64_t> used{0};
    std::atomic<std::uint64_t> used_high{0};
    std::uint64_t chunk_bytes = std::uint64_t{32} << 20;  ///< It reserves whole chunks, as a GPU's.
    std::atomic<std::uint64_t> reserved{0};
    std::atomic<std::uint64_t> reserved_high{0};
    std::atomic<int> follow_event_dependencies{1};
    std::atomic<int> allow_opportunistic{1};
    std::atomic<int> allow_internal_dependencies{1};

    [[nodiscard]] bool is_shared() const noexcept { return token != IpcToken{}; }
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
        return limit == 0 || (used <= limit && bytes <= limit - used);
    }
    void add(std::size_t bytes) noexcept;
    /// What isn't used any more stays reserved until trim().
    void remove(std::size_t bytes) noexcept { used -= bytes; }
    /// Reserves no more than `keep` bytes, or what is used.
    void trim(std::uint64_t keep) noexcept;

    /// Other devices with access.
    [[nodiscard]] bool accessible_from(int peer) const;
    void set_access(int peer, bool accessible);

private:
    [[nodiscard]] std::uint64_t in_chunks(std::uint64_t bytes) const noexcept;

    mutable std::mutex mutex_;
    std::set<int> peers_;
};

/// An allocation made through an entry point.
struct AllocationInfo {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    std::shared_ptr<Context> context;  ///< nullptr for module variables whose context isn't open.
    unsigned flags = 0;  ///< From cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged.
    std::uint64_t serial = 0;
    CUmemoryPool pool = nullptr;
    bool is_counted = true;  ///< Whether its pool counts it as used.
    bool sync_memops = false;
    unsigned handle_types = 0;  ///< CUmemAllocationHandleType flags that it can be exported as.
    bool freeing = false;       ///< A stream will free it; no longer live for the caller.
    std::shared_ptr<const IpcFile> ipc{};  ///< What its handles name, if it has been exported.
    /// The account of memory that a graph allocates: `freeing` while it isn't allocated.
    std::shared_ptr<MemoryPool> graph_account = nullptr;
};

/// The allocations in the shared arena. Thread-safe.
class Allocations {
public:
    explicit Allocations(Memory& memory) noexcept : memory_(memory) {}

    /// nullopt if the device or the arena is full.
    std::optional<std::uint64_t> allocate(Context& context, std::size_t bytes, MemoryKind kind,
                                          std::string_view label, unsigned flags = 0,
                                          CUmemoryPool pool = nullptr);
    /// Returns CUDA_ERROR_INVALID_VALUE and logs a description of the address if no allocation of
    /// one of `kinds` starts there.
    CUresult free(std::uint64_t address, std::initializer_list<MemoryKind> kinds);

    /// Marks memory that a stream will free. Errors are the same as for free().
    CUresult begin_free(std::uint64_t address);
    /// Frees memory that begin_free() marked.
    void finish_free(std::uint64_t address);

    /// Memory of a graph's node, not allocated yet; nullopt if the device or the arena is full.
    std::optional<std::uint64_t> reserve_for_graph(Context& context, std::size_t bytes);
    /// Whether a graph's memory is allocated.
    [[nodiscard]] bool is_claimed(std::uint64_t address) const;
    /// Allocates a graph's memory.
    void claim(std::uint64_t address);
    /// Makes a graph's memory ordinary memory or, if it isn't allocated, frees it.
    void leave_graph(std::uint64_t address) noexcept;

    CUresult register_host(Context& context, void* address, std::size_t bytes, unsigned flags);
    CUresult unregister_host(void* address);

    /// The allocation that contains the address, including module variables (flags 0).
    [[nodiscard]] std::optional<AllocationInfo> find(std::uint64_t address) const;
    /// The content of the handle of an allocation that contains the address: of a shared pool for
    /// IpcKind::pool_memory, from cuMemAlloc for IpcKind::memory. INVALID_VALUE for anything else.
    CUresult name(std::uint64_t address, IpcKind kind, IpcName& name);
    bool set_sync_memops(std::uint64_t address, bool value);

    /// Counts memory that isn't in the table: module variables.
    void take(int device, std::size_t bytes);
    /// The same, but false if the device hasn't that much left.
    [[nodiscard]] bool try_take(const Device& device, std::size_t bytes);
    void give_back(int device, std::size_t bytes);
    /// Bytes in use on a device, without page-locked memory.
    [[nodiscard]] std::size_t used(int device) const;
    [[nodiscard]] long count(std::initializer_list<MemoryKind> kinds) const;

    /// Descriptions of what entry points have allocated and not freed, in the order of allocation;
    /// empty if another thread is using the table.
    [[nodiscard]] std::vector<std::string> describe_living() const;
    /// Frees all remaining allocations of a context and returns their descriptions, such as
    /// "allocation 3, a 64-byte …,".
    std::vector<std::string> end_context(const Context& context);

private:
    CUresult free_locked(std::uint64_t address, std::initializer_list<MemoryKind> kinds);
    CUresult refuse_free_locked(std::uint64_t address) const;
    void release_locked(const AllocationInfo& info);
    /// Ends the use of memory that a graph will allocate again.
    static void give_back_to_graph(AllocationInfo& info) noexcept;

    Memory& memory_;
    mutable std::shared_mutex mutex_;
    std::map<std::uint64_t, AllocationInfo> table_;
    std::uint64_t serial_ = 0;
    std::map<int, std::size_t> used_;  ///< By device ordinal.
};

}  // namespace lode::emulator::driver
