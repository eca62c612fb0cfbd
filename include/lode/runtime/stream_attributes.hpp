/// \file
/// Attributes of streams: defaults of the launches on them, and how the host waits.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/launch_attributes.hpp>
#include <lode/runtime/stream.hpp>

#include <cstdint>
#include <optional>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// How a thread waits for a stream.
enum class SyncPolicy : std::uint8_t {
    automatic,  ///< The driver's choice.
    spin,       ///< Polls without pause: the shortest delay, at the cost of a core.
    yield,      ///< Polls, and yields to other threads.
    block       ///< Sleeps until the work is done.
};

/// Attributes of a stream. A launch on it takes over those that its own LaunchAttributes leave
/// unset. A plain value.
struct StreamAttributes {
    /// How the L2 cache treats accesses to a range of memory. A window of 0 bytes ends it.
    std::optional<AccessPolicyWindow> access_policy = std::nullopt;
    /// How a thread waits for the stream.
    std::optional<SyncPolicy> sync_policy = std::nullopt;
    /// Lower is more urgent; clamped to the device's range.
    std::optional<int> priority = std::nullopt;
    /// The domain of the kernels' fences.
    std::optional<MemorySyncDomain> memory_sync_domain = std::nullopt;
    /// The device's domains that `memory_sync_domain` chooses from.
    std::optional<MemorySyncDomainMap> memory_sync_domain_map = std::nullopt;
};

/// Sets the attributes that have a value, for all later work (cuStreamSetAttribute). Errors:
/// invalid_argument and out_of_resources as for LaunchAttributes, before anything is set;
/// device_lost; the driver's own.
[[nodiscard]] Status set_stream_attributes(StreamRef stream, const StreamAttributes& attributes);

/// The stream's attributes; each has a value (cuStreamGetAttribute).
[[nodiscard]] Result<StreamAttributes> stream_attributes(StreamRef stream);

/// Copies all attributes from one stream to another of the same device (cuStreamCopyAttributes).
/// Errors: invalid_argument for streams of different devices.
[[nodiscard]] Status copy_stream_attributes(StreamRef to, StreamRef from);

}  // namespace LODE_NAMESPACE

LODE_API_END
