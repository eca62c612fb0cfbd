// Access to the host bytes that hold emulated memory.
//
// Workers run different blocks concurrently and share global memory, so a data race of the emulated
// program must not be a data race of the emulator. SharedBytes accesses each naturally aligned
// element, as the checks guarantee, with one relaxed atomic operation, which is free on x86-64 and
// AArch64. OwnBytes is for memory that only one worker accesses.
#pragma once

#include "emulator/isa/op.hpp"

#include <cstring>
#include <type_traits>

namespace lode::emulator::exec {

struct OwnBytes {
    template <class T>
    [[gnu::always_inline]] static T read(const u8* from) noexcept {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    template <class T>
    [[gnu::always_inline]] static void write(u8* to, T value) noexcept {
        std::memcpy(to, &value, sizeof value);
    }
    template <class T>
    [[gnu::always_inline]] static void read_run(T* to, const u8* from, u32 count) noexcept {
        std::memcpy(to, from, count * sizeof(T));
    }
    template <class T>
    [[gnu::always_inline]] static void write_run(u8* to, const T* from, u32 count) noexcept {
        std::memcpy(to, from, count * sizeof(T));
    }
};

struct SharedBytes {
    template <class T>
    [[gnu::always_inline]] static T read(const u8* from) noexcept {
        if constexpr (sizeof(T) == 16) {
            const u64 low = read<u64>(from);
            return (T{read<u64>(from + 8)} << 64) | low;
        } else {
            return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
        }
    }
    template <class T>
    [[gnu::always_inline]] static void write(u8* to, T value) noexcept {
        if constexpr (sizeof(T) == 16) {
            write(to, static_cast<u64>(value));
            write(to + 8, static_cast<u64>(value >> 64));
        } else {
            __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
        }
    }
    /// Runs of elements are copied with vector moves, which don't tear aligned elements on
    /// supported processors. C++ cannot express that, so under ThreadSanitizer each element is
    /// atomic.
    template <class T>
    [[gnu::always_inline]] static void read_run(T* to, const u8* from, u32 count) noexcept {
#if defined(__SANITIZE_THREAD__)
        for (u32 i = 0; i < count; ++i)
            to[i] = read<T>(from + i * sizeof(T));
#else
        OwnBytes::read_run(to, from, count);
#endif
    }
    template <class T>
    [[gnu::always_inline]] static void write_run(u8* to, const T* from, u32 count) noexcept {
#if defined(__SANITIZE_THREAD__)
        for (u32 i = 0; i < count; ++i)
            write(to + i * sizeof(T), from[i]);
#else
        OwnBytes::write_run(to, from, count);
#endif
    }
};

}  // namespace lode::emulator::exec
