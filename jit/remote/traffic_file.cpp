#include "jit/remote/traffic_file.hpp"

#include "base/file.hpp"
#include "base/os/file.hpp"
#include "base/try.hpp"
#include "jit/request/bytes.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::uint64_t traffic_magic = 0x31'63'66'61'72'74'65'6c;  // "letrafc1"

constexpr std::uint64_t RemoteTraffic::*traffic_fields[] = {
    &RemoteTraffic::processes,  &RemoteTraffic::hits,         &RemoteTraffic::misses,
    &RemoteTraffic::faults,     &RemoteTraffic::writes,       &RemoteTraffic::dropped,
    &RemoteTraffic::bytes_read, &RemoteTraffic::bytes_written};

constexpr std::size_t traffic_bytes = sizeof(std::uint64_t) * (1 + std::size(traffic_fields));

RemoteTraffic parse_traffic(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    RemoteTraffic sums;
    if (bytes.size() != traffic_bytes || in.number<std::uint64_t>() != traffic_magic) return sums;
    for (const auto field : traffic_fields)
        sums.*field = in.number<std::uint64_t>();
    return sums;
}

Bytes format_traffic(const RemoteTraffic& sums) {
    ByteWriter out;
    out.number(traffic_magic);
    for (const auto field : traffic_fields)
        out.number(sums.*field);
    return std::move(out).take();
}

/// Waits for other processes' locks, which are held for one write. Goes on where locks fail.
Status lock_traffic(const TrustedFolder& folder, int file) {
    constexpr int attempts = 500;
    for (int i = 0; i < attempts; ++i) {
        if (folder.operations().lock_file(file) == 0 || errno != EWOULDBLOCK) return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return fail(Errc::timed_out, fmt::format("Another process holds the lock of '{}'.",
                                             (folder.path() / traffic_file).string()));
}

}  // namespace

Status add_traffic(const TrustedFolder& folder, const CacheCounters& counters) {
    const RemoteTraffic own{1,
                            counters.remote_hits,
                            counters.remote_misses,
                            counters.remote_faults,
                            counters.remote_writes,
                            counters.remote_dropped,
                            counters.remote_bytes_read,
                            counters.remote_bytes_written};
    if (own == RemoteTraffic{.processes = 1}) return {};
    LODE_TRY_ASSIGN(const Descriptor file, folder.open_shared(traffic_file));
    LODE_TRY(lock_traffic(folder, file.get()));
    Bytes bytes(traffic_bytes + 1);
    const auto got = os::read_file_at(file.get(), bytes, 0);
    if (got < 0) return fail_from_errno("Reading a file", folder.path() / traffic_file, errno);
    bytes.resize(static_cast<std::size_t>(got));
    RemoteTraffic sums = parse_traffic(bytes);
    for (const auto field : traffic_fields)
        sums.*field += own.*field;
    bytes = format_traffic(sums);
    if (os::write_file_at(file.get(), bytes, 0) != std::ssize(bytes) ||
        !os::resize_file(file.get(), bytes.size())) {
        return fail_from_errno("Writing a file", folder.path() / traffic_file, errno);
    }
    return {};
}

Result<RemoteTraffic> read_traffic(const TrustedFolder& folder) {
    LODE_TRY_ASSIGN(const auto read, folder.read(traffic_file, false));
    if (read.state != TrustedFolder::Read::State::present) return RemoteTraffic{};
    return parse_traffic(read.record.bytes);
}

}  // namespace LODE_NAMESPACE::cache
