#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

/// 64 x 32 x 8 numbers of f16, in boxes of 32 x 4 x 1.
TiledTensor tiled_tensor() {
    return {.layout = {.type = TensorType::f16,
                       .address = 0x1000,
                       .extents = {64, 32, 8},
                       .strides_bytes = {128, 4096}},
            .box = {32, 4, 1}};
}

/// 4 images of 16 x 8 pixels with 64 channels.
Im2colTensor im2col_tensor() {
    return {.layout = {.type = TensorType::f16,
                       .address = 0x1000,
                       .extents = {64, 16, 8, 4},
                       .strides_bytes = {128, 2048, 16384}},
            .lower_corner = {-1, -1},
            .upper_corner = {-1, -1},
            .channels_per_pixel = 64,
            .pixels_per_column = 128};
}

template <class Tensor, class Change>
std::string refusal_of(Tensor tensor, Change&& change) {
    change(tensor);
    const auto checked = check_tensor(tensor);
    if (checked) return "accepted";
    CHECK(checked.error().code == Errc::invalid_argument);
    return checked.error().message;
}

}  // namespace

TEST_CASE("tensor: every element type has its name, and right tensors are accepted") {
    CHECK(to_string(TensorType::u8) == "u8");
    CHECK(to_string(TensorType::u6x16_align16) == "u6x16_align16");
    CHECK(to_string(static_cast<TensorType>(99)) == "unknown");
    CHECK(check_tensor(tiled_tensor()));
    CHECK(check_tensor(im2col_tensor()));
    for (int type = 0; type <= static_cast<int>(TensorType::tf32_ftz); ++type) {
        auto tensor = tiled_tensor();
        tensor.layout.type = static_cast<TensorType>(type);
        CHECK(check_tensor(tensor));
    }
    auto packed = tiled_tensor();
    packed.layout.type = TensorType::u4x16_align16;
    packed.layout.extents[0] = 256;
    packed.box[0] = 128;
    CHECK(check_tensor(packed));
}

TEST_CASE("tensor: wrong tiled tensors are refused with the value and the limit") {
    const auto refusal = [](auto change) { return refusal_of(tiled_tensor(), change); };
    CHECK(refusal([](auto& t) { t.layout.address = 8; }) ==
          "The address is 8 but must be a multiple of 16.");
    CHECK(refusal([](auto& t) { t.layout.extents = {1, 1, 1, 1, 1, 1}; }) ==
          "The number of extents is 6 but must be from 1 to 5.");
    CHECK(refusal([](auto& t) { t.layout.extents[1] = 0; }) ==
          "Extent 1 is 0 but must be from 1 to 4294967296.");
    CHECK(refusal([](auto& t) { t.layout.strides_bytes.pop_back(); }) ==
          "There are 1 strides but must be 2.");
    CHECK(refusal([](auto& t) { t.layout.strides_bytes[1] = 24; }) ==
          "Stride 1 is 24 but must be a multiple of 16.");
    CHECK(refusal([](auto& t) { t.layout.strides_bytes[0] = std::uint64_t{1} << 40; }) ==
          "Stride 0 is 1099511627776 but must be from 0 to 1099511627775.");
    CHECK(refusal([](auto& t) {
              t.layout.element_strides = {1, 9, 1};
          }) == "Element stride 1 is 9 but must be from 1 to 8.");
    CHECK(refusal([](auto& t) { t.box[1] = 257; }) ==
          "Extent of the box 1 is 257 but must be from 1 to 256.");
    CHECK(refusal([](auto& t) { t.box[0] = 4; }) ==
          "Extent of the box 0 in bytes is 8 but must be a multiple of 16.");
    CHECK(refusal([](auto& t) { t.box = {8}; }) == "There are 1 extents of the box but must be 3.");
    CHECK(refusal([](auto& t) { t.layout.swizzle = TensorSwizzle::bytes_32; }) ==
          "Extent of the box 0 takes 64 bytes, more than the 32 of the swizzle.");
    CHECK(refusal([](auto& t) { t.layout.interleave = TensorInterleave::bytes_32; }) ==
          "The interleave bytes_32 needs the swizzle bytes_32.");
    CHECK(refusal([](auto& t) {
              t.layout.type = TensorType::i32;
              t.layout.fill = TensorFill::nan;
          }) == "The fill nan needs a floating-point type, which i32 isn't.");
    CHECK(refusal([](auto& t) {
              t.layout.interleave = TensorInterleave::bytes_16;
              t.layout.extents = {64, 32};
              t.layout.strides_bytes = {128};
          }) == "The number of extents is 2 but must be from 3 to 5.");
    CHECK(refusal([](auto& t) { t.layout.type = TensorType::u4x16_align16; }) ==
          "Extent 0 is 64 but must be a multiple of 128.");
    CHECK(refusal([](auto& t) { t.layout.type = static_cast<TensorType>(16); }) ==
          "16 isn't a type of elements.");
}

TEST_CASE("tensor: wrong im2col tensors are refused with the value and the limit") {
    const auto refusal = [](auto change) { return refusal_of(im2col_tensor(), change); };
    CHECK(refusal([](auto& t) { t.lower_corner = {0}; }) ==
          "There are 1 offsets of the lower corner but must be 2.");
    CHECK(refusal([](auto& t) { t.upper_corner[1] = 128; }) ==
          "The upper corner's offset along H is 128 but must be from -128 to 127.");
    CHECK(refusal([](auto& t) { t.lower_corner[0] = 15; }) ==
          "The bounding box along W is empty: it goes from 15 to 16 plus -1.");
    CHECK(refusal([](auto& t) { t.channels_per_pixel = 0; }) ==
          "The number of channels per pixel is 0 but must be from 1 to 256.");
    CHECK(refusal([](auto& t) { t.pixels_per_column = 1025; }) ==
          "The number of pixels per column is 1025 but must be from 1 to 1024.");
    auto layout = im2col_tensor().layout;
    layout.swizzle = TensorSwizzle::bytes_128;
    const Im2colWideTensor wide{.layout = layout,
                                .lower_corner_width = -40000,
                                .channels_per_pixel = 64,
                                .pixels_per_column = 1};
    CHECK(refusal_of(wide, [](auto&) {}) ==
          "The lower corner's offset along W is -40000 but must be from -32768 to 32767.");
    CHECK(refusal_of(wide, [](auto& t) { t.lower_corner_width = 0; }) == "accepted");
    CHECK(refusal_of(wide, [](auto& t) { t.layout.swizzle = TensorSwizzle::none; }) ==
          "A wide im2col tensor needs the swizzle bytes_64, bytes_128 or bytes_128_atom_32.");
}

TEST_CASE("tensor map: a tiled tensor reaches the driver as it is") {
    FakeMachine machine;
    const Device device = machine.device();
    CHECK(has_tensor_maps(device));
    const auto map = require(encode_tensor_map(device, tiled_tensor()));
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), map.opaque.data(), sizeof(words));
    CHECK(words[0] == 0x1000);
    CHECK(words[1] == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
    CHECK(words[2] == 64);
    CHECK(words[3] == 32);
    machine.driver.fail_always("cuTensorMapEncodeTiled", CUDA_ERROR_INVALID_VALUE);
    const auto refused = require_error(encode_tensor_map(device, tiled_tensor()));
    CHECK_CONTAINS(refused.message,
                   "encoding a tensor map of f16 with extents 64 x 32 x 8 at 0x1000");
}

TEST_CASE("tensor map: what the device or the driver lacks is named") {
    FakeMachine old({.devices = {{.cc = {8, 9}}}});
    const auto no_maps = require_error(encode_tensor_map(old.device(), tiled_tensor()));
    CHECK(no_maps.code == Errc::not_supported);
    CHECK_CONTAINS(no_maps.message, "need compute capability 9.0");

    FakeMachine hopper;
    auto packed = tiled_tensor();
    packed.layout.type = TensorType::u4x16_align8;
    const auto no_packed = require_error(encode_tensor_map(hopper.device(), packed));
    CHECK(no_packed.code == Errc::not_supported);
    CHECK_CONTAINS(no_packed.message, "need compute capability 10.0");

    TensorMap map;
    const auto no_call = require_error(replace_address(hopper.device(), map, 16));
    CHECK_CONTAINS(no_call.message, "cuTensorMapReplaceAddress");
    CHECK_CONTAINS(require_error(encode_tensor_map(hopper.device(), im2col_tensor())).message,
                   "cuTensorMapEncodeIm2col");
}
