// What the loader's audit library has instead of the C library.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>

#if defined(__GNUC__) && !defined(__clang__)
// GCC would make calls of memset and strlen from loops.
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

namespace lode::emulator::redirect {

constexpr std::size_t path_size = 4096;  ///< The system's PATH_MAX.

/// The text after `start`, if it begins with it; else nullptr.
inline const char* after(const char* text, const char* start) noexcept {
    for (; *start != '\0'; ++start, ++text)
        if (*text != *start) return nullptr;
    return text;
}

inline bool equals(const char* text, const char* other) noexcept {
    const char* rest = after(text, other);
    return rest != nullptr && *rest == '\0';
}

/// Where the last component of a path begins.
inline std::size_t directory_length(const char* path) noexcept {
    std::size_t length = 0;
    for (std::size_t i = 0; path[i] != '\0'; ++i)
        if (path[i] == '/') length = i + 1;
    return length;
}

/// Appends up to `count` characters at `at`, and moves it. False if there is no room.
inline bool append(char (&room)[path_size], std::size_t& at, const char* text,
                   std::size_t count = path_size) noexcept {
    for (std::size_t i = 0; i < count && text[i] != '\0'; ++i) {
        if (at + 1 >= path_size) return false;
        room[at++] = text[i];
    }
    room[at] = '\0';
    return true;
}

inline std::intptr_t system_call_of(std::intptr_t number, std::intptr_t a, std::intptr_t b,
                                    std::intptr_t c, std::intptr_t d, std::intptr_t e,
                                    std::intptr_t f) noexcept {
#if defined(__x86_64__)
    register std::intptr_t fourth asm("r10") = d;
    register std::intptr_t fifth asm("r8") = e;
    register std::intptr_t sixth asm("r9") = f;
    asm volatile("syscall"
                 : "+a"(number)
                 : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
    return number;
#elif defined(__aarch64__)
    register std::intptr_t which asm("x8") = number;
    register std::intptr_t first asm("x0") = a;
    register std::intptr_t second asm("x1") = b;
    register std::intptr_t third asm("x2") = c;
    register std::intptr_t fourth asm("x3") = d;
    register std::intptr_t fifth asm("x4") = e;
    register std::intptr_t sixth asm("x5") = f;
    asm volatile("svc 0"
                 : "+r"(first)
                 : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "memory");
    return first;
#else
#error "The system call of this architecture isn't written."
#endif
}

inline std::intptr_t word_of(std::intptr_t number) noexcept {
    return number;
}
inline std::intptr_t word_of(const void* pointer) noexcept {
    return reinterpret_cast<std::intptr_t>(pointer);
}

/// Returns the negative error number if it fails.
template <class... Arguments>
std::intptr_t system_call(std::intptr_t number, Arguments... arguments) noexcept {
    const std::intptr_t all[6] = {word_of(arguments)...};
    return system_call_of(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

}  // namespace lode::emulator::redirect
