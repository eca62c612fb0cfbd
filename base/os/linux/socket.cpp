#include "base/os/socket.hpp"

#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace LODE_NAMESPACE::os {

namespace {

/// A new socket for which `use`, bind() or connect(), has taken the path.
Descriptor socket_at(const std::filesystem::path& path,
                     int (*use)(int, const sockaddr*, socklen_t)) noexcept {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string& name = path.native();
    if (name.size() >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return {};
    }
    std::memcpy(address.sun_path, name.data(), name.size());
    Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made) return {};
    if (use(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        const int problem = errno;
        made = {};
        errno = problem;
    }
    return made;
}

}  // namespace

Descriptor listen_at(const std::filesystem::path& path) noexcept {
    Descriptor made = socket_at(path, &::bind);
    constexpr int most_waiting = 64;
    if (made && ::listen(made.get(), most_waiting) != 0) return {};
    return made;
}

Descriptor accept_connection(int listener) noexcept {
    return Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
}

Descriptor connect_to(const std::filesystem::path& path) noexcept {
    return socket_at(path, &::connect);
}

std::ptrdiff_t send(int socket, std::span<const std::byte> bytes) noexcept {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool send_all(int socket, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const auto sent = send(socket, bytes);
        if (sent <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

std::ptrdiff_t receive(int socket, std::span<std::byte> into) noexcept {
    return ::recv(socket, into.data(), into.size(), 0);
}

bool may_succeed_later(int error_number) noexcept {
    return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

int connection_error(int socket) noexcept {
    int problem = 0;
    socklen_t size = sizeof(problem);
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 ? problem : 0;
}

void shut_down(int socket) noexcept {
    ::shutdown(socket, SHUT_RDWR);
}

void shut_down_sending(int socket) noexcept {
    ::shutdown(socket, SHUT_WR);
}

int wait_for(int socket, Traffic traffic, std::chrono::milliseconds time) noexcept {
    pollfd watched{socket, 0, 0};
    if (traffic != Traffic::outgoing) watched.events |= POLLIN;
    if (traffic != Traffic::incoming) watched.events |= POLLOUT;
    const int ready = ::poll(&watched, 1, static_cast<int>(time.count()));
    return ready < 0 && errno == EINTR ? 0 : ready;
}

}  // namespace LODE_NAMESPACE::os
