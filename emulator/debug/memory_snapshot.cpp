#include "emulator/debug/memory_snapshot.hpp"

#include <cstring>

namespace lode::emulator::debug {

std::optional<MemorySnapshot> MemorySnapshot::take(const Memory& memory) {
    MemorySnapshot made;
    made.newest_ = memory.newest_serial();
    std::uint64_t total = 0;
    for (const Allocation& one : memory.living()) {
        total += one.bytes;
        if (total > most) return std::nullopt;
        const auto* const first = reinterpret_cast<const std::uint8_t*>(one.address);
        made.ranges_.emplace_back(one.address, std::vector(first, first + one.bytes));
    }
    return made;
}

void MemorySnapshot::restore(Memory& memory) const {
    for (const Allocation& one : memory.living()) {
        if (one.serial > newest_ && one.kind == MemoryKind::heap)
            static_cast<void>(memory.release(one.address));
    }
    for (const auto& [address, bytes] : ranges_) {
        const auto [low, high] = memory.bounds(address);
        if (low <= address && bytes.size() <= high - address)
            std::memcpy(reinterpret_cast<void*>(address), bytes.data(), bytes.size());
    }
}

}  // namespace lode::emulator::debug
