/// \file
/// Direct access of one device's kernels to another device's memory.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// What links two devices (cuDeviceGetP2PAttribute).
struct PeerProperties {
    bool access = false;          ///< Kernels can access the other device's memory.
    bool native_atomics = false;  ///< Atomic operations on the other device's memory work.
    bool array_access = false;    ///< CUDA arrays of the other device are accessible too.
    int performance_rank = 0;     ///< Ranks the links of a system: the fastest has rank 0.
};

/// Whether kernels on `device` can be given access to the memory of `peer`
/// (cuDeviceCanAccessPeer). False for a device and itself, and for devices of two drivers.
[[nodiscard]] Result<bool> can_access_peer(const Device& device, const Device& peer);

/// What links two different devices of one driver.
/// Errors: invalid_argument for one device twice, and for devices of two drivers.
[[nodiscard]] Result<PeerProperties> peer_properties(const Device& device, const Device& peer);

/// Gives kernels on `device` access to the memory of `peer`, present and future; launches then
/// accept buffers and spans of `peer`. Access in the other direction is a second call. Doing it
/// twice is no error. Thread-safe; it stays until disable_peer_access() or the end of both
/// contexts.
///
/// Memory from a MemoryPool and from a GrowableBuffer has access rights of its own, which this call
/// doesn't change. Errors: invalid_argument for one device twice, and for devices of two drivers;
/// not_supported where the link doesn't allow it; out_of_resources when a device has no link left.
[[nodiscard]] Status enable_peer_access(const Device& device, const Device& peer);

/// Takes the access away. Work that uses it must be done. Without access it does nothing.
/// Errors: those of the driver.
[[nodiscard]] Status disable_peer_access(const Device& device, const Device& peer);

}  // namespace LODE_NAMESPACE

LODE_API_END
