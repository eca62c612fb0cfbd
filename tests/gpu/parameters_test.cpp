// Kernel parameters on a real device: layout, limits, signatures.
#include "tests/gpu/support.hpp"

#include <array>
#include <cstring>

using namespace lode;
using namespace lode::test;

namespace {

struct alignas(16) Float4 {
    float x, y, z, w;
};
struct alignas(8) Float2 {
    float x, y;
};

/// Fills the whole parameter space: 8 + 4 × 8189 = 32,764 bytes.
struct Big {
    unsigned values[8189];
};

}  // namespace

TEST_CASE("parameters: the driver packs parameters as the guide says, and the values arrive") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto untyped = require(device.load(Source::text(R"(
extern "C" __global__ void k(int i, float4 f4, char c, float f, double* p, float2 f2) {
    p[0] = i; p[1] = f4.x; p[2] = f4.w; p[3] = c; p[4] = f; p[5] = f2.x; p[6] = f2.y;
})",
                                                          "packing.cu"),
                                             "k"));
    const std::vector<ParameterSlot> expected{{0, 4}, {16, 16}, {32, 1}, {36, 4}, {40, 8}, {48, 8}};
    const auto slots = require(untyped.parameters());
    CHECK(slots == expected);

    auto out = require(device.alloc<double>(7));
    PackedArguments packed;
    require(packed.add(-5));
    require(packed.add(Float4{1.5F, 0, 0, 2.5F}));
    require(packed.add('c'));
    require(packed.add(3.5F));
    require(packed.add(out.native()));
    require(packed.add(Float2{4.5F, 5.5F}));
    CHECK(packed.size_bytes() == 56);
    CHECK(packed.slots() == expected);
    const auto stream = require(device.create_stream());
    require(untyped.launch(stream, LaunchShape{}, packed));
    const std::vector<double> values{-5, 1.5, 2.5, 'c', 3.5, 4.5, 5.5};
    CHECK(require(out.to_vector()) == values);

    // The same through the typed kernel, and with pointers.
    require(out.zero());
    const auto typed =
        require(Kernel<void(int, Float4, char, float, double*, Float2)>::from_untyped(untyped));
    require(typed.launch(stream, LaunchShape{}, -5, Float4{1.5F, 0, 0, 2.5F}, 'c', 3.5F, out,
                         Float2{4.5F, 5.5F}));
    CHECK(require(out.to_vector()) == values);

    require(out.zero());
    int i = -5;
    Float4 f4{1.5F, 0, 0, 2.5F};
    char c = 'c';
    float f = 3.5F;
    double* p = out.data();
    Float2 f2{4.5F, 5.5F};
    void* pointers[] = {&i, &f4, &c, &f, &p, &f2};
    require(untyped.launch(stream, LaunchShape{}, pointers));
    CHECK(require(out.to_vector()) == values);
}

TEST_CASE("parameters: 32,764 bytes arrive complete, and one more int is refused") {
    LODE_NEEDS_DEVICE(device, 0);
    const std::string body = R"(
struct Big { unsigned values[COUNT]; };
extern "C" __global__ void k(unsigned* out, const __grid_constant__ Big big) {
    unsigned sum = 0;
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x) sum += big.values[i];
    atomicAdd(out, sum);
})";
    const auto kernel =
        load<void(unsigned*, Big)>(device, body, {.compile = {.definitions = {{"COUNT", "8189"}}}});
    auto out = require(device.alloc<unsigned>(1));
    require(out.zero());
    Big big{};
    unsigned expected = 0;
    for (unsigned i = 0; i < std::size(big.values); ++i) {
        big.values[i] = i * i + 1;
        expected += big.values[i];
    }
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.block = {128}}, out, big));
    CHECK(require(out.to_vector())[0] == expected);

    require(out.zero());
    PackedArguments packed;
    require(packed.add(out.native()));
    require(packed.add(big));
    CHECK(packed.size_bytes() == PackedArguments::max_bytes);
    require(kernel.untyped().launch(stream, {.block = {128}}, packed));
    CHECK(require(out.to_vector())[0] == expected);

    const auto error = require_error(device.load(
        Source::text(body, "big.cu"), "k", {.compile = {.definitions = {{"COUNT", "8190"}}}}));
    CHECK(error.code == Errc::compile_failed);
}

TEST_CASE("parameters: a wrong C++ signature is reported before a launch") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto untyped = require(device.load(
        Source::text("extern \"C\" __global__ void k(float a, const float* x, float* y, int n) {}",
                     "saxpy.cu"),
        "k"));
    CHECK(Kernel<void(float, const float*, float*, int)>::from_untyped(untyped));
    const auto count =
        require_error(Kernel<void(float, const float*, float*)>::from_untyped(untyped));
    CHECK(count.code == Errc::signature_mismatch);
    CHECK_CONTAINS(count.message, "the kernel has 4 parameters and C++ has 3");
    const auto size =
        require_error(Kernel<void(double, const float*, float*, int)>::from_untyped(untyped));
    CHECK_CONTAINS(size.message, "parameter 0 is f32 in the kernel and f64 in C++");
    const auto kind =
        require_error(Kernel<void(int, const float*, float*, int)>::from_untyped(untyped));
    CHECK_CONTAINS(kind.message, "parameter 0 is f32 in the kernel and i32 in C++");
    const auto last =
        require_error(Kernel<void(float, const float*, float*, float)>::from_untyped(untyped));
    CHECK_CONTAINS(last.message, "parameter 3 is i32 in the kernel and f32 in C++");
}

TEST_CASE("parameters: a kernel without parameters can be launched in every way") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void()>(device, "extern \"C\" __global__ void k() {}");
    const auto stream = require(device.create_stream());
    CHECK(require(kernel.untyped().parameters()).empty());
    require(kernel.launch(stream, LaunchShape{}));
    require(kernel.untyped().launch(stream, LaunchShape{}, std::span<void*>{}));
    require(kernel.untyped().launch(stream, LaunchShape{}, PackedArguments{}));
    require(stream.sync());
}
