// lode-worker: compiles for a host that started it, over the socket that it inherits as descriptor
// 3. Not a command for people.
#include "jit/worker/serve.hpp"

#include <cstdio>

#include <sys/resource.h>
#include <sys/socket.h>

int main() {
    constexpr int host = 3;
    int type = 0;
    socklen_t size = sizeof(type);
    if (::getsockopt(host, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
        std::fputs("lode-worker compiles for programs that use lode, which start it themselves.\n",
                   stderr);
        return 2;
    }
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    lode::worker::serve(host);
    return 0;
}
