// MemorySnapshot: the memory of the devices as it was when a launch began.
#pragma once

#include "emulator/memory/memory.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lode::emulator::debug {

class MemorySnapshot {
public:
    /// The most bytes that are kept.
    static constexpr std::uint64_t most = std::uint64_t{256} << 20;

    /// Nothing if the program has more than `most` bytes.
    [[nodiscard]] static std::optional<MemorySnapshot> take(const Memory& memory);
    /// Gives the bytes back their values, and frees what kernels have allocated since.
    void restore(Memory& memory) const;

private:
    std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> ranges_;
    std::uint64_t newest_ = 0;  ///< The serial of the newest allocation.
};

}  // namespace lode::emulator::debug
