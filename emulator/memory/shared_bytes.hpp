// Copies and fills of memory that kernels may access concurrently.
//
// Streams run concurrently, so an emulated program can race with itself, for example a copy on one
// stream with a kernel on another. That must not be a data race of the emulator. Vector and word
// moves don't tear aligned elements on supported processors, but C++ cannot express that; under
// ThreadSanitizer each element is therefore a relaxed atomic, as it is under AddressSanitizer,
// whose memmove() moves bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lode::emulator {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
template <class Word>
void copy_shared_words(void* to, const void* from, std::size_t count) noexcept {
    auto* const target = static_cast<Word*>(to);
    const auto* const source = static_cast<const Word*>(from);
    const bool backwards =
        reinterpret_cast<std::uintptr_t>(to) > reinterpret_cast<std::uintptr_t>(from);
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t at = backwards ? count - 1 - k : k;
        __atomic_store_n(target + at, __atomic_load_n(source + at, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
    }
}
#endif

/// Like memmove.
inline void copy_shared_bytes(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    const std::uintptr_t all =
        reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
    if (all % 8 == 0) return copy_shared_words<std::uint64_t>(to, from, bytes / 8);
    if (all % 4 == 0) return copy_shared_words<std::uint32_t>(to, from, bytes / 4);
    copy_shared_words<std::uint8_t>(to, from, bytes);
#else
    std::memmove(to, from, bytes);
#endif
}

/// Writes `value` `count` times; `to` is aligned to the size of T.
template <class T>
void fill_shared(void* to, T value, std::size_t count) noexcept {
    auto* const target = static_cast<T*>(to);
#if defined(__SANITIZE_THREAD__)
    for (std::size_t k = 0; k < count; ++k)
        __atomic_store_n(target + k, value, __ATOMIC_RELAXED);
#else
    std::fill_n(target, count, value);
#endif
}

}  // namespace lode::emulator
