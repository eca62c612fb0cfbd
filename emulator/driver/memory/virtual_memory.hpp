// Address ranges, physical memory, and what is mapped where: cuMemAddressReserve, cuMemCreate, …
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/handles.hpp"
#include "emulator/driver/memory/memory_file.hpp"
#include "emulator/memory/memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace lode::emulator::driver {

class Allocations;

/// Physical memory of a device; freed once no handle and no mapping refers to it.
struct PhysicalMemory : Handled {
    PhysicalMemory(Allocations& its_account, int its_device, MemoryFile its_file,
                   unsigned its_handle_types) noexcept
        : account(its_account),
          device(its_device),
          file(std::move(its_file)),
          handle_types(its_handle_types) {}
    ~PhysicalMemory();
    Allocations& account;  ///< Has counted the bytes.
    const int device;
    const MemoryFile file;
    const unsigned handle_types;  ///< CUmemAllocationHandleType flags.
    std::atomic<int> references{1};
};

/// What cuMemMap has put at an address.
struct Mapping {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    std::size_t offset = 0;
    std::shared_ptr<PhysicalMemory> physical;
    std::set<int> devices;  ///< With access; the memory can be used once there is one.
};

/// Reserved ranges and their mappings. Thread-safe.
class VirtualMemory {
public:
    /// Unit of sizes and addresses in bytes, as on a GPU.
    static constexpr std::size_t granularity = std::size_t{2} << 20;

    explicit VirtualMemory(Memory& memory) noexcept : memory_(memory) {}

    /// 0 if the arena is full.
    std::uint64_t reserve(std::size_t bytes, std::size_t alignment);
    /// False unless it is a whole reserved range without mappings.
    bool free(std::uint64_t address, std::size_t bytes);
    bool map(Mapping mapping);
    /// False unless whole mappings cover the range.
    bool unmap(std::uint64_t address, std::size_t bytes);
    /// Grants or revokes a device's access to whole mappings. INVALID_VALUE if they don't cover the
    /// range.
    CUresult set_access(std::uint64_t address, std::size_t bytes, int device, bool access);
    /// The mapping that contains an address.
    [[nodiscard]] std::optional<Mapping> find(std::uint64_t address) const;
    [[nodiscard]] std::size_t ranges() const;

private:
    using Mappings = std::map<std::uint64_t, Mapping>;
    /// The first mapping of a range that whole mappings cover; end() otherwise.
    Mappings::iterator covering_locked(std::uint64_t address, std::size_t bytes);

    Memory& memory_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, std::size_t> ranges_;
    Mappings mappings_;
};

}  // namespace lode::emulator::driver
