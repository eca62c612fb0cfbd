#include "base/try.hpp"
#include "runtime/state/device_state.hpp"

#include <lode/runtime/tensor_map.hpp>

#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace LODE_NAMESPACE {
namespace {

constexpr ComputeCapability first_with_tensor_maps{9, 0};
constexpr ComputeCapability first_with_packed_types{10, 0};
constexpr std::uint64_t tensor_alignment = 16;

Status check_capability(const detail::DeviceState& device, std::string_view what,
                        ComputeCapability first) {
    if (device.properties.cc >= first) return {};
    return fail(Errc::not_supported, fmt::format("{} need compute capability {}; this is {}.", what,
                                                 first.to_string(), device.describe()));
}

/// What every encoding checks before the driver is asked.
template <class Function>
Status check_encoding(const detail::DeviceState& device, const detail::EntryPoint<Function>& entry,
                      const TensorLayout& layout) {
    LODE_TRY(device.driver->require(entry, "A tensor map"));
    LODE_TRY(check_capability(device, "Tensor maps", first_with_tensor_maps));
    if (layout.type >= TensorType::u4x16_align8)
        LODE_TRY(check_capability(device, "Tensors of packed types", first_with_packed_types));
    if (layout.swizzle > TensorSwizzle::bytes_128)
        LODE_TRY(check_capability(device, "Swizzles with atoms", first_with_packed_types));
    return {};
}

std::vector<std::uint32_t> element_strides_of(const TensorLayout& layout) {
    if (!layout.element_strides.empty()) return layout.element_strides;
    return std::vector<std::uint32_t>(layout.extents.size(), 1);
}

/// The driver refuses null pointers, even for a tensor of one dimension, which has no strides.
const cuuint64_t* strides_of(const TensorLayout& layout) noexcept {
    static constexpr cuuint64_t none = 0;
    if (layout.strides_bytes.empty()) return &none;
    return reinterpret_cast<const cuuint64_t*>(layout.strides_bytes.data());
}

/// "encoding a tensor map of f16 with extents 64 x 128 at 0x7f00…"
std::string what_is_encoded(const TensorLayout& layout) {
    return fmt::format("encoding a tensor map of {} with extents {} at {:#x}",
                       to_string(layout.type), fmt::join(layout.extents, " x "), layout.address);
}

/// Calls an encoder with the arguments that all have, those of `box`, and the modes at the end.
template <class Function, class... Box, class... Wide>
Result<TensorMap> encode(const Device& device, const detail::EntryPoint<Function>& entry,
                         const TensorLayout& layout, std::tuple<Box...> box, Wide... wide) {
    CUtensorMap encoded;
    const auto steps = element_strides_of(layout);
    auto done = std::apply(
        [&](auto... of_box) {
            return detail::call_in_context(
                *device.state(), entry, &encoded, static_cast<CUtensorMapDataType>(layout.type),
                static_cast<cuuint32_t>(layout.extents.size()),
                reinterpret_cast<void*>(layout.address),
                reinterpret_cast<const cuuint64_t*>(layout.extents.data()), strides_of(layout),
                of_box..., static_cast<const cuuint32_t*>(steps.data()),
                static_cast<CUtensorMapInterleave>(layout.interleave), wide...,
                static_cast<CUtensorMapSwizzle>(layout.swizzle),
                static_cast<CUtensorMapL2promotion>(layout.l2_fetch),
                static_cast<CUtensorMapFloatOOBfill>(layout.fill));
        },
        box);
    if (!done) return tl::unexpected<Error>(std::move(done).error().in(what_is_encoded(layout)));
    TensorMap map;
    std::memcpy(map.opaque.data(), &encoded, sizeof(encoded));
    return map;
}

}  // namespace

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) &&
              alignof(TensorMap) % alignof(CUtensorMap) == 0);

bool has_tensor_maps(const Device& device) noexcept {
    return device.cc() >= first_with_tensor_maps &&
           static_cast<bool>(device.state()->table().cuTensorMapEncodeTiled);
}

Result<TensorMap> encode_tensor_map(const Device& device, const HalfMatrix& matrix) {
    TiledTensor tensor;
    tensor.layout.type = TensorType::f16;
    tensor.layout.address = matrix.address;
    tensor.layout.extents = {matrix.columns, matrix.rows};
    tensor.layout.strides_bytes = {matrix.row_bytes};
    tensor.layout.swizzle = TensorSwizzle::bytes_128;
    tensor.layout.l2_fetch = TensorL2Fetch::bytes_256;
    tensor.box = {matrix.box_columns, matrix.box_rows};
    return encode_tensor_map(device, tensor);
}

Result<TensorMap> encode_tensor_map(const Device& device, const TiledTensor& tensor) {
    const auto& entry = device.state()->table().cuTensorMapEncodeTiled;
    LODE_TRY(check_encoding(*device.state(), entry, tensor.layout));
    LODE_TRY(check_tensor(tensor));
    return encode(device, entry, tensor.layout,
                  std::tuple(static_cast<const cuuint32_t*>(tensor.box.data())));
}

Result<TensorMap> encode_tensor_map(const Device& device, const Im2colTensor& tensor) {
    const auto& entry = device.state()->table().cuTensorMapEncodeIm2col;
    LODE_TRY(check_encoding(*device.state(), entry, tensor.layout));
    LODE_TRY(check_tensor(tensor));
    return encode(
        device, entry, tensor.layout,
        std::tuple(tensor.lower_corner.data(), tensor.upper_corner.data(),
                   cuuint32_t{tensor.channels_per_pixel}, cuuint32_t{tensor.pixels_per_column}));
}

Result<TensorMap> encode_tensor_map(const Device& device, const Im2colWideTensor& tensor) {
    const auto& entry = device.state()->table().cuTensorMapEncodeIm2colWide;
    LODE_TRY(check_encoding(*device.state(), entry, tensor.layout));
    LODE_TRY(check_capability(*device.state(), "Wide im2col tensors", first_with_packed_types));
    LODE_TRY(check_tensor(tensor));
    return encode(
        device, entry, tensor.layout,
        std::tuple(tensor.lower_corner_width, tensor.upper_corner_width,
                   cuuint32_t{tensor.channels_per_pixel}, cuuint32_t{tensor.pixels_per_column}),
        static_cast<CUtensorMapIm2ColWideMode>(tensor.mode));
}

Status replace_address(const Device& device, TensorMap& map, NativeDevicePointer address) {
    auto& state = *device.state();
    const auto& entry = state.table().cuTensorMapReplaceAddress;
    LODE_TRY(state.driver->require(entry, "Moving a tensor map"));
    if (address % tensor_alignment != 0) {
        return fail(Errc::invalid_argument,
                    fmt::format("The address is {:#x} but must be a multiple of {}.", address,
                                tensor_alignment));
    }
    CUtensorMap moved;
    std::memcpy(&moved, map.opaque.data(), sizeof(moved));
    LODE_TRY(call_in_context(state, entry, &moved, reinterpret_cast<void*>(address)));
    std::memcpy(map.opaque.data(), &moved, sizeof(moved));
    return {};
}

}  // namespace LODE_NAMESPACE
