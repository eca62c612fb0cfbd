#include "runtime/state/device_checks.hpp"

#include <lode/runtime/peer.hpp>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

Status check_peers(const detail::DeviceState& device, const detail::DeviceState& peer) {
    LODE_TRY(detail::check_one_driver(device, peer));
    if (device.device != peer.device) return {};
    return fail(Errc::invalid_argument,
                fmt::format("{} needs no peer access to itself.", device.describe()));
}

Result<int> peer_attribute(const detail::DeviceState& device, const detail::DeviceState& peer,
                           CUdevice_P2PAttribute which) {
    int value = 0;
    LODE_TRY(device.driver->call(device.table().cuDeviceGetP2PAttribute, &value, which,
                                 device.device, peer.device));
    return value;
}

}  // namespace

Result<bool> can_access_peer(const Device& device, const Device& peer) {
    const detail::DeviceState& from = *device.state();
    const detail::DeviceState& to = *peer.state();
    if (!check_peers(from, to)) return false;
    return detail::could_access(from, to);
}

Result<PeerProperties> peer_properties(const Device& device, const Device& peer) {
    const detail::DeviceState& from = *device.state();
    const detail::DeviceState& to = *peer.state();
    LODE_TRY(check_peers(from, to));
    LODE_TRY(from.driver->require(from.table().cuDeviceGetP2PAttribute, "Peer properties"));
    PeerProperties properties;
    LODE_TRY_ASSIGN(const int access,
                    peer_attribute(from, to, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED));
    LODE_TRY_ASSIGN(const int atomics,
                    peer_attribute(from, to, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED));
    LODE_TRY_ASSIGN(const int arrays,
                    peer_attribute(from, to, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED));
    LODE_TRY_ASSIGN(properties.performance_rank,
                    peer_attribute(from, to, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK));
    properties.access = access != 0;
    properties.native_atomics = atomics != 0;
    properties.array_access = arrays != 0;
    return properties;
}

Status enable_peer_access(const Device& device, const Device& peer) {
    detail::DeviceState& from = *device.state();
    detail::DeviceState& to = *peer.state();
    LODE_TRY(check_peers(from, to));
    LODE_TRY(detail::require_access(from, to));
    const auto& entry = from.table().cuCtxEnablePeerAccess;
    LODE_TRY(from.driver->require(entry, "Peer access"));
    LODE_TRY_ASSIGN(CUcontext context, to.context());
    LODE_TRY_ASSIGN(const detail::CurrentContext scope, detail::CurrentContext::enter(from));
    const CUresult result = entry(context, 0U);
    if (result == CUDA_ERROR_TOO_MANY_PEERS) {
        return fail(Errc::out_of_resources, fmt::format("{} has no link left for access to {}.",
                                                        from.describe(), to.describe()));
    }
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        return tl::unexpected<Error>(from.failed(entry.name, result));
    from.set_peer(to.device, true);
    return {};
}

Status disable_peer_access(const Device& device, const Device& peer) {
    detail::DeviceState& from = *device.state();
    detail::DeviceState& to = *peer.state();
    LODE_TRY(check_peers(from, to));
    const auto& entry = from.table().cuCtxDisablePeerAccess;
    LODE_TRY(from.driver->require(entry, "Peer access"));
    LODE_TRY_ASSIGN(CUcontext context, to.context());
    LODE_TRY_ASSIGN(const detail::CurrentContext scope, detail::CurrentContext::enter(from));
    from.set_peer(to.device, false);
    const CUresult result = entry(context);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) return {};
    return tl::unexpected<Error>(from.failed(entry.name, result));
}

}  // namespace LODE_NAMESPACE
