// Local memory: private to each lane, with the 4-byte words of the 32 lanes interleaved, so that
// lanes at one address access consecutive bytes.
#pragma once

#include "emulator/exec/lanes.hpp"

namespace lode::emulator::exec {

/// Where a lane's word is, in bytes from the start of the warp's local memory.
[[gnu::always_inline]] constexpr u32 local_word(u32 word, u32 lane) {
    return (word * lanes + lane) * 4;
}

template <u32 bytes>
[[gnu::always_inline]] inline void read_local(const WarpContext& c, u32 lane, u32 address, u8* to) {
    if constexpr (bytes < 4) {
        std::memcpy(to, c.local + local_word(address / 4, lane) + address % 4, bytes);
    } else {
        for (u32 w = 0; w < bytes / 4; ++w) {
            std::memcpy(to + std::size_t{w} * 4, c.local + local_word(address / 4 + w, lane), 4);
        }
    }
}
template <u32 bytes>
[[gnu::always_inline]] inline void write_local(const WarpContext& c, u32 lane, u32 address,
                                               const u8* from) {
    if constexpr (bytes < 4) {
        std::memcpy(c.local + local_word(address / 4, lane) + address % 4, from, bytes);
    } else {
        for (u32 w = 0; w < bytes / 4; ++w) {
            std::memcpy(c.local + local_word(address / 4 + w, lane), from + std::size_t{w} * 4, 4);
        }
    }
}

[[gnu::always_inline]] inline bool local_inside(const WarpContext& c, const u32* a, u32 bytes) {
    const u32 limit = c.local_bytes - bytes;
    u32 bad = limit;
    u32 low = 0;
    for (u32 i = 0; i < lanes; ++i) {
        const u32 active = 0 - ((c.mask >> i) & 1);
        bad |= (a[i] | (limit - a[i])) & active;
        low |= a[i] & active;
    }
    return (bad >> 31) == 0 && (low & (bytes - 1)) == 0;
}

}  // namespace lode::emulator::exec
