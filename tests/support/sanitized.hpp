#pragma once

namespace lode::test {

/// Whether a sanitizer runs, which makes system calls of its own and takes memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace lode::test

/// Ends the test under a sanitizer.
#define LODE_SKIP_IF_SANITIZED()                                                      \
    if (::lode::test::is_sanitized) {                                                 \
        MESSAGE("skipped: a sanitizer makes system calls that a jail doesn't allow"); \
        return;                                                                       \
    }
