// Functions of glibc that are newer than 2.27, with which scripts/sysroot builds. Such a build
// calls them where the process has them.
#pragma once

#include <lode/base/api.hpp>

#include <filesystem>
#include <system_error>

#include <spawn.h>
#include <stdlib.h>
#include <string.h>

#if !__GLIBC_PREREQ(2, 32)
extern "C" {
[[gnu::weak]] const char* sigabbrev_np(int number) noexcept;
[[gnu::weak]] const char* strerrorname_np(int number) noexcept;
}
#endif
#if !__GLIBC_PREREQ(2, 34)
extern "C" [[gnu::weak]] int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t* actions, int first) noexcept;
#endif

namespace LODE_NAMESPACE::os {

/// "SEGV", or nullptr.
inline const char* abbreviation_of_signal(int number) noexcept {
#if !__GLIBC_PREREQ(2, 32)
    if (::sigabbrev_np == nullptr) return nullptr;
#endif
    return ::sigabbrev_np(number);
}

/// "ENOSPC", or nullptr.
inline const char* name_of_errno(int number) noexcept {
#if !__GLIBC_PREREQ(2, 32)
    if (::strerrorname_np == nullptr) return nullptr;
#endif
    return ::strerrorname_np(number);
}

/// Has the child close its descriptors from `first` on. An older glibc closes those that are open
/// now; lode opens none that a child inherits.
inline int add_close_from(posix_spawn_file_actions_t& actions, int first) {
#if !__GLIBC_PREREQ(2, 34)
    if (::posix_spawn_file_actions_addclosefrom_np == nullptr) {
        std::error_code problem;
        int failed = 0;
        for (std::filesystem::directory_iterator item("/proc/self/fd", problem), end;
             !problem && failed == 0 && item != end; item.increment(problem)) {
            const int open = ::atoi(item->path().filename().c_str());
            if (open >= first) failed = ::posix_spawn_file_actions_addclose(&actions, open);
        }
        return failed != 0 ? failed : problem.value();
    }
#endif
    return ::posix_spawn_file_actions_addclosefrom_np(&actions, first);
}

}  // namespace LODE_NAMESPACE::os
