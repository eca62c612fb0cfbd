// The areas of memory that a worker lays out for the ops of a launch. Private to emulator/exec.
#pragma once

#include "emulator/exec/scheduler.hpp"

#include <cstdint>

namespace lode::emulator::exec {

/// At least that many bytes of a store, on a cache line.
inline u8* aligned(Store& store, std::size_t bytes) {
    if (store.size() < bytes + 64) store.grow(bytes + 64);
    const auto at = reinterpret_cast<std::uintptr_t>(store.data());
    return reinterpret_cast<u8*>((at + 63) / 64 * 64);
}

inline u32 frame_bytes(const Code& code) {
    return (code.frame_bytes + 63) / 64 * 64;
}

/// Sets a slot of an area in all lanes.
template <class T>
void fill(u8* area, u32 offset, T value) {
    auto* const to = reinterpret_cast<T*>(area + offset);
    for (u32 i = 0; i < lanes; ++i)
        to[i] = value;
}

}  // namespace lode::emulator::exec
