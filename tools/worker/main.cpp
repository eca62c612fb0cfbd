// lode-worker: compiles for a host that started it, over the socket that it inherits as descriptor
// 3. Not a command for people.
#include "tools/worker/serve.hpp"

#include <cstdio>

#include <malloc.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

/// Starts the program again without randomised addresses, if the system allows it: precompiled
/// headers hold addresses, and so one worker can use what another made.
void fix_addresses(char** arguments) {
    constexpr unsigned long ask = 0xffffffff;
    const int current = ::personality(ask);
    if (current < 0) return;
    const auto fixed = static_cast<unsigned long>(current) | ADDR_NO_RANDOMIZE;
    if (static_cast<unsigned long>(current) == fixed || ::personality(fixed) < 0) return;
    ::execv("/proc/self/exe", arguments);
}

}  // namespace

int main(int count, char** arguments) {
    constexpr int host = 3;
    int type = 0;
    socklen_t size = sizeof(type);
    if (::getsockopt(host, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        std::fputs("lode-worker compiles for programs that use lode, which start it themselves.\n",
                   stderr);
        return 2;
    }
    fix_addresses(arguments);
    // Large blocks in the heap, not in mappings of their own: NVRTC then lies at the same address
    // whatever the size of the first request.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    lode::worker::serve(host, count > 1 ? arguments[1] : nullptr);
    return 0;
}
