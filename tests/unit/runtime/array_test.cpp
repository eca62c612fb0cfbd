// Arrays without a device: formats of elements, and drivers that lack the entry points.
// tests/gpu/textures_test.cpp uses arrays, textures and surfaces on devices.
#include "tests/unit/runtime/support.hpp"

#include <lode/runtime/array.hpp>
#include <lode/runtime/surface.hpp>
#include <lode/runtime/texture.hpp>

namespace {

struct FloatPair {
    float x, y;
};
struct Colour {
    unsigned char x, y, z, w;
};
struct HalfBits {
    std::uint16_t bits;
};

}  // namespace

/// As a host would do it for its own type.
template <>
struct lode::ElementFormatOf<HalfBits> {
    static constexpr ElementFormat value{ElementFormat::Kind::floating_point, 16, 1};
};

using namespace lode;
using namespace lode::test;

TEST_CASE("array: the format of an element follows from its type") {
    using Kind = ElementFormat::Kind;
    CHECK(ElementFormatOf<float>::value == ElementFormat{Kind::floating_point, 32, 1});
    CHECK(ElementFormatOf<std::int16_t>::value == ElementFormat{Kind::signed_integer, 16, 1});
    CHECK(ElementFormatOf<FloatPair>::value == ElementFormat{Kind::floating_point, 32, 2});
    CHECK(ElementFormatOf<Colour>::value == ElementFormat{Kind::unsigned_integer, 8, 4});
    CHECK(ElementFormatOf<std::array<std::uint32_t, 2>>::value ==
          ElementFormat{Kind::unsigned_integer, 32, 2});
    CHECK(ElementFormatOf<HalfBits>::value.bytes() == sizeof(HalfBits));
    CHECK(ElementFormatOf<Colour>::value.bytes() == sizeof(Colour));
}

TEST_CASE("array: a line has a height and a depth of 0, and one row of elements") {
    CHECK(ArrayExtent{5}.volume() == 5);
    CHECK(ArrayExtent{5, 2}.volume() == 10);
    CHECK(ArrayExtent{5, 0, 3}.volume() == 15);
    const ArrayBox whole = detail::whole_box({5, 0, 3});
    CHECK(whole.height == 1);
    CHECK(whole.volume() == 15);
}

TEST_CASE("array: a driver without the entry points is named, not called") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto error = require_error(Array<float>::create(device, {4}));
    CHECK(error.code == Errc::not_supported);
    CHECK_CONTAINS(error.message, "cuArray3DCreate");
    CHECK(require_error(MipmappedArray<float>::create(device, {4}, 1)).code == Errc::not_supported);
}

TEST_CASE("array: every use of an empty array, texture or surface fails") {
    const Array<float> array;
    CHECK_FALSE(array);
    CHECK(require_error(array.to_vector()).code == Errc::invalid_argument);
    CHECK(require_error(MipmappedArray<float>().level(0)).code == Errc::invalid_argument);
    CHECK(require_error(Texture::create(array)).code == Errc::invalid_argument);
    CHECK(require_error(Texture::create(MipmappedArray<float>())).code == Errc::invalid_argument);
    CHECK(require_error(Surface::create(array)).code == Errc::invalid_argument);
    CHECK_FALSE(Texture());
    CHECK_FALSE(Surface());
}

TEST_CASE("array: a launch with an empty texture or surface names it and its argument") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto library = require(device.load(cubin_image({"k(.param .u64 t, .param .u64 s)"})));
    const auto kernel = require(library.kernel<void(unsigned long long, unsigned long long)>("k"));
    const auto stream = require(device.create_stream());
    const auto texture = require_error(kernel.launch(stream, {}, Texture(), Surface()));
    CHECK(texture.code == Errc::invalid_argument);
    CHECK_CONTAINS(texture.message, "The texture at argument 1 of kernel 'k' is empty");
    const auto surface = require_error(kernel.launch(stream, {}, 1ULL, Surface()));
    CHECK_CONTAINS(surface.message, "The surface at argument 2 of kernel 'k' is empty");
}
