#include "base/os/socket.hpp"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace LODE_NAMESPACE::os {

std::ptrdiff_t send(int socket, std::span<const std::byte> bytes) noexcept {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
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
