// What the driver knows of each allocation beyond its bytes, and memory pools.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/memory/memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::driver {

class Context;

/// A stream-ordered pool: an account and its attributes; the memory itself comes from the arena.
struct MemoryPool : Handled {
    explicit MemoryPool(int its_device) noexcept : device(its_device) {}
    const int device;
    std::atomic<std::uint64_t> release_threshold{0};
    std::atomic<std::uint64_t> used{0};
    std::atomic<std::uint64_t> used_high{0};
    std::atomic<int> follow_event_dependencies{1};
    std::atomic<int> allow_opportunistic{1};
    std::atomic<int> allow_internal_dependencies{1};

    void add(std::size_t bytes) noexcept;
};

/// One allocation made through an entry point.
struct AllocationInfo {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    std::shared_ptr<Context> context;  ///< nullptr for a module's variables of no open context.
    unsigned flags = 0;  ///< Of cuMemHostAlloc, cuMemHostRegister or cuMemAllocManaged.
    std::uint64_t serial = 0;
    CUmemoryPool pool = nullptr;
    bool sync_memops = false;
    bool freeing = false;  ///< A stream will free it: no longer live for the caller.
};

/// The table of allocations over the shared arena. Thread-safe.
class Allocations {
public:
    explicit Allocations(Memory& memory) noexcept : memory_(memory) {}

    /// nullopt when the device or the arena has no room.
    std::optional<std::uint64_t> allocate(Context& context, std::size_t bytes, MemoryKind kind,
                                          std::string_view label, unsigned flags = 0,
                                          CUmemoryPool pool = nullptr);
    /// CUDA_ERROR_INVALID_VALUE when nothing of one of `kinds` starts there; the log says what
    /// does.
    CUresult free(std::uint64_t address, std::initializer_list<MemoryKind> kinds);

    /// Marks memory whose free is on its way in a stream; INVALID_VALUE and the log as by free().
    CUresult begin_free(std::uint64_t address);
    /// Frees what begin_free() marked.
    void finish_free(std::uint64_t address);

    CUresult register_host(Context& context, void* address, std::size_t bytes, unsigned flags);
    CUresult unregister_host(void* address);

    /// The allocation that holds the address; a module's variables too (flags 0).
    [[nodiscard]] std::optional<AllocationInfo> find(std::uint64_t address) const;
    bool set_sync_memops(std::uint64_t address, bool value);

    /// Counts memory that isn't in the table: the variables of modules.
    void take(int device, std::size_t bytes);
    void give_back(int device, std::size_t bytes);
    /// Bytes in use on a device; page-locked memory isn't the device's.
    [[nodiscard]] std::size_t used(int device) const;
    [[nodiscard]] long count(std::initializer_list<MemoryKind> kinds) const;

    /// Frees everything that is left of a context and says what it was: "allocation 3, a 64-byte
    /// …,".
    std::vector<std::string> end_context(const Context& context);

private:
    CUresult free_locked(std::uint64_t address, std::initializer_list<MemoryKind> kinds);
    CUresult refuse_free_locked(std::uint64_t address) const;
    void release_locked(const AllocationInfo& info);

    Memory& memory_;
    mutable std::shared_mutex mutex_;
    std::map<std::uint64_t, AllocationInfo> table_;
    std::uint64_t serial_ = 0;
    std::map<int, std::size_t> used_;  ///< By device ordinal.
};

}  // namespace lode::emulator::driver
