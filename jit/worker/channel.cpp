#include "jit/worker/channel.hpp"

#include "base/os/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace LODE_NAMESPACE::worker {
namespace {

/// "lodework", then the size.
constexpr std::uint64_t magic = 0x6b726f7765646f6c;
constexpr std::size_t header_bytes = 2 * sizeof(std::uint64_t);

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
        const auto count = os::send(socket, std::span(rest_).subspan(sent_));
        // The caller looks at its limits first, even if signals interrupt every attempt.
        if (count < 0) return os::may_succeed_later(errno) ? Transfer::waiting : Transfer::closed;
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
        const auto count = os::receive(socket, std::span(bytes_).subspan(before));
        const int error = errno;
        bytes_.resize(before + static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0)));
        if (count == 0) return Transfer::closed;
        if (count < 0) return os::may_succeed_later(error) ? Transfer::waiting : Transfer::closed;
    }
}

std::span<const std::byte> Receiver::message() const noexcept {
    return std::span(bytes_).subspan(header_bytes);
}

}  // namespace LODE_NAMESPACE::worker
