#include "jit/worker/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

namespace LODE_NAMESPACE::worker {
namespace {

/// "lodework", then the size.
constexpr std::uint64_t magic = 0x6b726f7765646f6c;
constexpr std::size_t header_bytes = 2 * sizeof(std::uint64_t);

/// Whether a later attempt may succeed. The caller looks at its limits before that, even if signals
/// interrupt every attempt.
bool is_passing(int error) noexcept {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Sender::Sender(Bytes message) {
    ByteWriter out;
    out.number(magic);
    out.number(std::uint64_t{message.size()});
    out.raw(message);
    rest_ = std::move(out).take();
}

Transfer Sender::step(int socket) {
    while (sent_ < rest_.size()) {
        const auto count = ::send(socket, rest_.data() + sent_, rest_.size() - sent_, MSG_NOSIGNAL);
        if (count < 0) return is_passing(errno) ? Transfer::waiting : Transfer::closed;
        sent_ += static_cast<std::size_t>(count);
    }
    return Transfer::complete;
}

bool Receiver::has_header() const noexcept {
    return bytes_.size() >= header_bytes;
}

std::uint64_t Receiver::announced() const noexcept {
    ByteReader in(bytes_);
    (void)in.number<std::uint64_t>();
    return in.number<std::uint64_t>();
}

Transfer Receiver::step(int socket) {
    for (;;) {
        std::size_t wanted = header_bytes - std::min(bytes_.size(), header_bytes);
        if (has_header()) {
            if (ByteReader(bytes_).number<std::uint64_t>() != magic ||
                announced() > largest_message)
                return Transfer::damaged;
            wanted = header_bytes + announced() - bytes_.size();
            if (wanted == 0) return Transfer::complete;
        }
        constexpr std::size_t most_at_once = std::size_t{1} << 20;
        const std::size_t before = bytes_.size();
        bytes_.resize(before + std::min(wanted, most_at_once));
        const auto count = ::recv(socket, bytes_.data() + before, bytes_.size() - before, 0);
        const int error = errno;
        bytes_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count == 0) return Transfer::closed;
        if (count < 0) return is_passing(error) ? Transfer::waiting : Transfer::closed;
    }
}

std::span<const std::byte> Receiver::message() const noexcept {
    return std::span(bytes_).subspan(header_bytes);
}

}  // namespace LODE_NAMESPACE::worker
