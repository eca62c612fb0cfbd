// Advice and prefetches of managed memory, which have no effect here but can be queried.
#pragma once

#include "emulator/driver/abi.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace lode::emulator::driver {

/// What a program has said about a range. Devices are ordinals, CU_DEVICE_CPU or CU_DEVICE_INVALID.
struct ManagedHint {
    bool read_mostly = false;
    CUdevice preferred = CU_DEVICE_INVALID;
    CUdevice prefetched = CU_DEVICE_INVALID;
    std::set<CUdevice> accessed_by;
};

/// Hints by address. Thread-safe.
class ManagedHints {
public:
    void change(std::uint64_t address, std::size_t bytes,
                const std::function<void(ManagedHint&)>& edit);
    /// The hints of all parts of a range, at least one.
    [[nodiscard]] std::vector<ManagedHint> of(std::uint64_t address, std::size_t bytes) const;
    /// For new memory: removes what was said about earlier memory at the same addresses.
    void forget(std::uint64_t address, std::size_t bytes);

private:
    using Hints = std::map<std::uint64_t, ManagedHint>;
    Hints::iterator split_locked(std::uint64_t address);

    mutable std::mutex mutex_;
    Hints hints_{{0, {}}};  ///< Each holds from its address to the next one's.
};

}  // namespace lode::emulator::driver
