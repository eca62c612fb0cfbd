// What a compiler that its source has taken over tries.
#pragma once

#include <string>
#include <string_view>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace lode::test::hostile {

/// System calls have smaller numbers.
inline constexpr long last_call = 700;

/// This process. While a compiler compiles, lode answers what it asks the C library.
inline pid_t own_process() {
    return static_cast<pid_t>(::syscall(SYS_getpid));
}

/// Tries something that a jail shall prevent, on a file that may be read if it needs one. Returns
/// "succeeded", or why it fails. What succeeds does no harm.
std::string attack(std::string_view name, const std::string& file);

}  // namespace lode::test::hostile
