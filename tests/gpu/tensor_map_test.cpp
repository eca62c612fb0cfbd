// Tensor maps of every form, as the driver encodes them.
#include "tests/gpu/support.hpp"

#include <lode/runtime/tensor_map.hpp>

using namespace lode;
using namespace lode::test;

namespace {

constexpr std::size_t tensor_bytes = std::size_t{1} << 18;

/// 64 x 32 x 8 elements of up to 8 bytes in boxes of 16 x 4 x 1.
TiledTensor boxes_at(NativeDevicePointer address, TensorType type) {
    return {.layout = {.type = type,
                       .address = address,
                       .extents = {64, 32, 8},
                       .strides_bytes = {512, 16384}},
            .box = {16, 4, 1}};
}

NativeDevicePointer address_of(const DeviceBuffer<std::byte>& buffer) {
    return reinterpret_cast<NativeDevicePointer>(buffer.data());
}

}  // namespace

TEST_CASE("tensor maps: the driver accepts every type, and im2col") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(has_tensor_maps(device), "the device has no tensor maps");
    const auto memory = require(device.alloc<std::byte>(tensor_bytes));
    for (int type = 0; type <= static_cast<int>(TensorType::tf32_ftz); ++type) {
        CAPTURE(type);
        CHECK(
            encode_tensor_map(device, boxes_at(address_of(memory), static_cast<TensorType>(type))));
    }
    const Im2colTensor pixels{.layout = {.type = TensorType::f16,
                                         .address = address_of(memory),
                                         .extents = {64, 16, 8, 4},
                                         .strides_bytes = {128, 2048, 16384},
                                         .swizzle = TensorSwizzle::bytes_128},
                              .lower_corner = {-1, -1},
                              .upper_corner = {-1, -1},
                              .channels_per_pixel = 64,
                              .pixels_per_column = 128};
    CHECK(encode_tensor_map(device, pixels));
}

TEST_CASE("tensor maps: a moved map is the map of the other address") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(has_tensor_maps(device), "the device has no tensor maps");
    const auto one = require(device.alloc<std::byte>(tensor_bytes));
    const auto two = require(device.alloc<std::byte>(tensor_bytes));
    auto map = require(encode_tensor_map(device, boxes_at(address_of(one), TensorType::f32)));
    const auto other =
        require(encode_tensor_map(device, boxes_at(address_of(two), TensorType::f32)));
    CHECK(map.opaque != other.opaque);
    require(replace_address(device, map, address_of(two)));
    CHECK(map.opaque == other.opaque);
    CHECK(require_error(replace_address(device, map, 8)).code == Errc::invalid_argument);
}
