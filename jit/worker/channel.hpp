// Messages over a socket: a fixed header, then the bytes.
#pragma once

#include "jit/request/bytes.hpp"

#include <lode/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace LODE_NAMESPACE::worker {

/// The largest message, in bytes. A header that announces more ends the conversation.
inline constexpr std::uint64_t largest_message = std::uint64_t{2} << 30;

/// What a step of a transfer led to.
enum class Transfer : std::uint8_t {
    complete,
    waiting,  ///< The socket takes or has nothing now, or a signal came.
    closed,   ///< The other side is gone.
    damaged   ///< What arrives isn't a message.
};

/// Sends one message, in as many steps as the socket needs.
class Sender {
public:
    explicit Sender(Bytes message);
    /// Sends as much as the socket takes, or everything if the socket blocks.
    [[nodiscard]] Transfer step(int socket);

private:
    Bytes rest_;
    std::size_t sent_ = 0;
};

/// Receives one message. Memory grows with what has arrived, not with what the header announces.
class Receiver {
public:
    [[nodiscard]] Transfer step(int socket);
    /// The message, once it is complete.
    [[nodiscard]] std::span<const std::byte> message() const noexcept;

private:
    [[nodiscard]] bool has_header() const noexcept;
    [[nodiscard]] std::uint64_t announced() const noexcept;

    Bytes bytes_;
};

/// Makes steps until the transfer ends, on a socket that blocks.
template <class Side>
[[nodiscard]] bool completes(Side& side, int socket) {
    auto outcome = Transfer::waiting;
    while (outcome == Transfer::waiting)
        outcome = side.step(socket);
    return outcome == Transfer::complete;
}

}  // namespace LODE_NAMESPACE::worker
