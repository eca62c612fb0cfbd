#include "runtime/memory/copy_box.hpp"

#include "runtime/memory/device_memory.hpp"

namespace LODE_NAMESPACE::detail {
namespace {

constexpr std::string_view box_copies = "copying a box";

/// Fills in what CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have in common.
template <class Descriptor>
Descriptor describe_box(const BoxSide& to, const BoxSide& from, BoxExtent box) noexcept {
    Descriptor copy{};
    copy.srcXInBytes = from.offset.x;
    copy.srcY = from.offset.y;
    copy.srcZ = from.offset.z;
    copy.srcMemoryType = from.type;
    copy.srcHost = from.host;
    copy.srcDevice = from.address;
    copy.srcArray = from.array;
    copy.srcPitch = from.pitch;
    copy.srcHeight = from.slice_rows;
    copy.dstXInBytes = to.offset.x;
    copy.dstY = to.offset.y;
    copy.dstZ = to.offset.z;
    copy.dstMemoryType = to.type;
    copy.dstHost = to.host;
    copy.dstDevice = to.address;
    copy.dstArray = to.array;
    copy.dstPitch = to.pitch;
    copy.dstHeight = to.slice_rows;
    copy.WidthInBytes = box.width;
    copy.Height = box.height;
    copy.Depth = box.depth;
    return copy;
}

/// A copy between two devices of one driver.
Status copy_box_to_peer(const BoxSide& to, const BoxSide& from, BoxExtent box,
                        const StreamRef* stream) {
    DeviceState& target = *to.device;
    DeviceState& source = *from.device;
    const DriverTable& table = target.table();
    LODE_TRY(target.driver->require(table.cuMemcpy3DPeer, box_copies));
    LODE_TRY(target.driver->require(table.cuMemcpy3DPeerAsync, box_copies));
    auto copy = describe_box<CUDA_MEMCPY3D_PEER>(to, from, box);
    LODE_TRY_ASSIGN(copy.dstContext, target.context());
    LODE_TRY_ASSIGN(copy.srcContext, source.context());
    return copy_to_peer(target, source, stream, table.cuMemcpy3DPeer, table.cuMemcpy3DPeerAsync,
                        &copy);
}

}  // namespace

CUDA_MEMCPY3D describe_copy(const BoxSide& to, const BoxSide& from, BoxExtent box) noexcept {
    return describe_box<CUDA_MEMCPY3D>(to, from, box);
}

Status copy_box(const BoxSide& to, const BoxSide& from, BoxExtent box, const StreamRef* stream) {
    if (box.width == 0 || box.height == 0 || box.depth == 0) return {};
    if (to.device != nullptr && from.device != nullptr) {
        LODE_TRY(check_same_driver(*to.device, *from.device));
        if (to.device != from.device) return copy_box_to_peer(to, from, box, stream);
    }
    DeviceState* const owner = to.device != nullptr ? to.device : from.device;
    LODE_TRY_ASSIGN(DeviceState* const device, device_for({to.address, owner}, stream));
    const DriverTable& table = device->table();
    LODE_TRY(device->driver->require(table.cuMemcpy3D, box_copies));
    LODE_TRY(device->driver->require(table.cuMemcpy3DAsync, box_copies));
    const CUDA_MEMCPY3D copy = describe_copy(to, from, box);
    return copy_in_order(*device, stream, table.cuMemcpy3D, table.cuMemcpy3DAsync, &copy);
}

}  // namespace LODE_NAMESPACE::detail
