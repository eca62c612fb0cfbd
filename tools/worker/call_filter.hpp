// The system calls that a worker in a jail may make: a list of what NVRTC, the C library and the
// worker itself need. tests/jail/allowed_calls.txt is the same list as the kernel sees it.
#pragma once

#include <lode/base/error.hpp>

namespace LODE_NAMESPACE::worker {

/// Refuses all other calls of this process, in all its threads and for good: EPERM, or ENOSYS where
/// the C library then takes another call. Calls of another machine (32-bit programs) end the
/// process. `socket` is the only one that the process sends to and receives from. Without
/// `with_threads` it starts no further thread. Needs no_new_privs. Errors: not_supported.
[[nodiscard]] Status restrict_calls(int socket, bool with_threads);

}  // namespace LODE_NAMESPACE::worker
