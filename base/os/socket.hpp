// Sockets: a stream of bytes to another process.
#pragma once

#include "base/os/descriptor.hpp"

#include <lode/base/api.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>

namespace LODE_NAMESPACE::os {

/// One send() or recv(). Returns -1 and sets errno on failure, also where the socket would have to
/// wait; 0 is the end of what comes in.
[[nodiscard]] std::ptrdiff_t send(int socket, std::span<const std::byte> bytes) noexcept;
[[nodiscard]] std::ptrdiff_t receive(int socket, std::span<std::byte> into) noexcept;
/// Sends all of it, through a socket that blocks; false if the other end is gone.
[[nodiscard]] bool send_all(int socket, std::span<const std::byte> bytes) noexcept;
/// Whether an attempt that failed may succeed later.
[[nodiscard]] bool may_succeed_later(int error_number) noexcept;

/// The error of an attempt to connect, as an errno value; 0 if there is none.
[[nodiscard]] int connection_error(int socket) noexcept;

/// Sockets between processes of this machine, which block. Each is without a descriptor, and errno
/// is set, on failure; a path of more than 107 bytes is one.
[[nodiscard]] Descriptor listen_at(const std::filesystem::path& path) noexcept;
[[nodiscard]] Descriptor accept_connection(int listener) noexcept;
[[nodiscard]] Descriptor connect_to(const std::filesystem::path& path) noexcept;

/// Ends both directions, or only what goes out.
void shut_down(int socket) noexcept;
void shut_down_sending(int socket) noexcept;

enum class Traffic : unsigned char { incoming, outgoing, both };
/// Waits until the socket is ready. Returns 1; 0 if the time is over or a signal came; -1 with
/// errno on failure.
[[nodiscard]] int wait_for(int socket, Traffic traffic, std::chrono::milliseconds time) noexcept;

}  // namespace LODE_NAMESPACE::os
