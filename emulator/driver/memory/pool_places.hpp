// The pools of places that aren't devices, and of managed memory.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/memory/allocations.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace lode::emulator::driver {

/// For each place and kind of memory, the default pool and the current one. Thread-safe.
class PoolPlaces {
public:
    /// The current pool of a place, or its default pool, which the first call makes.
    CUmemoryPool get(const CUmemLocation& location, MemoryKind kind, bool current);
    void set(const CUmemLocation& location, MemoryKind kind, CUmemoryPool pool);
    /// Makes the default pools current again wherever `pool` is.
    void forget(CUmemoryPool pool);
    [[nodiscard]] std::size_t size() const;

private:
    using Key = std::tuple<MemoryKind, int, int>;
    struct Place {
        CUmemoryPool original = nullptr, current = nullptr;
    };
    Place& place_of(const CUmemLocation& location, MemoryKind kind);

    mutable std::mutex mutex_;
    std::map<Key, Place> places_;
};

}  // namespace lode::emulator::driver
