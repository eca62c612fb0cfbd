// Texture fetches on the software device: the formulas of the programming guide, "Texture
// Fetching".
#include "tests/unit/emulator/driver/image_bench.hpp"

#include <chrono>
#include <thread>

using namespace lode::emulator_test;

namespace {

constexpr const char* fetch_1d = "tex.1d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1}];";
constexpr const char* fetch_2d = "tex.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2}];";
constexpr unsigned normalised = CU_TRSF_NORMALIZED_COORDINATES;
const std::vector<float> table{10, 20, 30, 40};

CUarray table_array() {
    const CUarray array = make_array({4, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0});
    fill_array(array, table);
    return array;
}

std::vector<Words> at_each(const std::vector<float>& x) {
    std::vector<Words> made;
    for (const float each : x)
        made.push_back(reals(each));
    return made;
}

}  // namespace

TEST_CASE("emulator texture: nearest and linear filtering of a line") {
    const ImageBench bench;
    const CUDA_RESOURCE_DESC resource = resource_of(table_array());
    const CUtexObject nearest = make_texture(resource, sampler());
    CHECK(bench.firsts(fetch_1d, nearest, at_each({0, 0.99f, 1, 3.5f, 4, -3, 100})) ==
          std::vector<float>{10, 10, 20, 40, 40, 10, 40});
    const CUtexObject linear =
        make_texture(resource, sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR));
    CHECK(bench.firsts(fetch_1d, linear, at_each({0.5f, 1, 1.25f, 4, -3, 3.5f})) ==
          std::vector<float>{10, 15, 17.5f, 40, 10, 40});
    // The weight has 8 bits of fraction: 0.001 is 0, and 0.003 is 1/256.
    CHECK(bench.firsts(fetch_1d, linear, at_each({0.501f, 0.503f})) ==
          std::vector<float>{10, 10 + 10 / 256.0f});
}

TEST_CASE("emulator texture: a table look-up reaches both ends of its range") {
    const ImageBench bench;
    const CUtexObject linear = make_texture(
        resource_of(table_array()), sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR));
    for (const float range : {4.0f, 1.0f}) {
        const auto look_up = [&](float x) { return 3 / range * x + 0.5f; };
        CHECK(bench.firsts(fetch_1d, linear,
                           at_each({look_up(0), look_up(range / 2), look_up(range)})) ==
              std::vector<float>{10, 25, 40});
    }
}

TEST_CASE("emulator texture: address modes of normalised coordinates") {
    const ImageBench bench;
    const CUDA_RESOURCE_DESC resource = resource_of(table_array());
    const auto fetched = [&](CUaddress_mode mode, unsigned flags) {
        CUDA_TEXTURE_DESC texture = sampler(mode, CU_TR_FILTER_MODE_POINT, flags);
        texture.borderColor[0] = 7;
        return bench.firsts(fetch_1d, make_texture(resource, texture),
                            at_each({0.125f, 1.125f, -0.125f, 2.375f}));
    };
    CHECK(fetched(CU_TR_ADDRESS_MODE_WRAP, normalised) == std::vector<float>{10, 10, 40, 20});
    CHECK(fetched(CU_TR_ADDRESS_MODE_MIRROR, normalised) == std::vector<float>{10, 40, 10, 20});
    CHECK(fetched(CU_TR_ADDRESS_MODE_CLAMP, normalised) == std::vector<float>{10, 40, 10, 40});
    CHECK(fetched(CU_TR_ADDRESS_MODE_BORDER, normalised) == std::vector<float>{10, 7, 7, 7});
    // Without normalised coordinates, wrapping clamps.
    CHECK(fetched(CU_TR_ADDRESS_MODE_WRAP, 0) == std::vector<float>{10, 20, 10, 30});
}

TEST_CASE("emulator texture: linear filtering of planes and volumes weighs each corner") {
    const ImageBench bench;
    const CUarray plane = make_array({2, 2, 0, CU_AD_FORMAT_FLOAT, 1, 0});
    fill_array(plane, std::vector<float>{0, 1, 2, 3});
    const CUDA_TEXTURE_DESC linear = sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR);
    CHECK(bench.firsts(fetch_2d, make_texture(resource_of(plane), linear),
                       {reals(1, 1), reals(0.75f, 0.5f), reals(1.5f, 1.25f)}) ==
          std::vector<float>{1.5f, 0.25f, 2.5f});
    const CUarray volume = make_array({2, 2, 2, CU_AD_FORMAT_FLOAT, 1, 0});
    fill_array(volume, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(bench.firsts("tex.3d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2, %r3, %r3}];",
                       make_texture(resource_of(volume), linear),
                       {reals(1, 1, 1), reals(0.5f, 0.5f, 1.25f)}) == std::vector<float>{3.5f, 3});
}

TEST_CASE("emulator texture: formats, read modes and channels") {
    const ImageBench bench;
    const CUarray bytes = make_array({2, 1, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0});
    fill_array(bytes, std::vector<std::uint8_t>{0, 51, 128, 255, 1, 2, 3, 4});
    const auto real_bytes =
        bench.run(fetch_2d, make_texture(resource_of(bytes), sampler()), {reals(0.5f, 0.5f)});
    CHECK(real_bytes[0] == reals(0, 0.2f, static_cast<float>(128 / 255.0), 1));
    const CUtexObject whole = make_texture(
        resource_of(bytes),
        sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
    CHECK(bench.run("tex.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2}];", whole,
                    {reals(1.5f, 0.5f)})[0] == Words{1, 2, 3, 4});
    const CUarray sign = make_array({2, 0, 0, CU_AD_FORMAT_SIGNED_INT16, 2, 0});
    fill_array(sign, std::vector<std::int16_t>{-32768, 32767, -5, 0});
    CHECK(bench.run(fetch_1d, make_texture(resource_of(sign), sampler()), {reals(0)})[0] ==
          reals(-1, 1));
    const CUtexObject signed_whole = make_texture(
        resource_of(sign),
        sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
    CHECK(bench.run("tex.1d.v4.s32.f32 {%r5, _, %r7, %r8}, [%rd3, {%r1}];", signed_whole,
                    {reals(1)})[0][0] == static_cast<std::uint32_t>(-5));
    const CUarray halves = make_array({1, 0, 0, CU_AD_FORMAT_HALF, 1, 0});
    fill_array(halves, std::vector<std::uint16_t>{0x3e00});
    CHECK(bench.firsts(fetch_1d, make_texture(resource_of(halves), sampler()), {reals(0)})[0] ==
          1.5f);
    const CUtexObject srgb =
        make_texture(resource_of(bytes),
                     sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_SRGB));
    const auto decoded = bench.run(fetch_2d, srgb, {reals(0.5f, 0.5f)})[0];
    CHECK(real(decoded[1]) == 0.033203125);
    CHECK(real(decoded[3]) == 1);
}

TEST_CASE("emulator texture: a view reads texels as another format of their size") {
    const ImageBench bench;
    const CUarray words = make_array({4, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0});
    fill_array(words, std::vector<float>{10, 20, 30, 40});  // As bits.
    const CUDA_RESOURCE_DESC resource = resource_of(words);
    const CUDA_TEXTURE_DESC linear = sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR);
    CUDA_RESOURCE_VIEW_DESC view{};
    view.width = 4;
    const auto created = [&](CUresourceViewFormat format, CUtexObject& texture) {
        view.format = format;
        return CU(cuTexObjectCreate, 5000)(&texture, &resource, &linear, &view);
    };
    CUtexObject texture = 0;
    REQUIRE(created(CU_RES_VIEW_FORMAT_FLOAT_1X32, texture) == CUDA_SUCCESS);
    CHECK(bench.firsts(fetch_1d, texture, at_each({0.5f, 1, 1.25f})) ==
          std::vector<float>{10, 15, 17.5f});
    // 20 is 0x41a00000: its high half, 0x41a0, is 16800 of 65535.
    REQUIRE(created(CU_RES_VIEW_FORMAT_UINT_2X16, texture) == CUDA_SUCCESS);
    CHECK(bench.firsts("tex.1d.v4.f32.f32 {%r6, %r5, %r7, %r8}, [%rd3, {%r1}];", texture,
                       at_each({1.5f})) == std::vector<float>{16800 / 65535.0f});
    for (const auto other : {CU_RES_VIEW_FORMAT_FLOAT_2X32, CU_RES_VIEW_FORMAT_UINT_1X16,
                             CU_RES_VIEW_FORMAT_UNSIGNED_BC1})
        CHECK(created(other, texture) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(created(static_cast<CUresourceViewFormat>(0x23), texture) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator texture: linear and pitched memory") {
    const ImageBench bench;
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, 128) == CUDA_SUCCESS);
    std::vector<float> values(32);
    for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = static_cast<float>(k);
    REQUIRE(CU(cuMemcpyHtoD, 3020)(memory, values.data(), 128) == CUDA_SUCCESS);
    CUDA_RESOURCE_DESC linear{};
    linear.resType = CU_RESOURCE_TYPE_LINEAR;
    linear.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, 40};
    const CUtexObject line = make_texture(linear, sampler());
    CHECK(bench.firsts("tex.1d.v4.f32.s32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1}];", line,
                       {{0}, {9}, {10}, {~0u}}) == std::vector<float>{0, 9, 0, 0});
    CUDA_RESOURCE_DESC pitched{};
    pitched.resType = CU_RESOURCE_TYPE_PITCH2D;
    pitched.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 3, 2, 64};
    CHECK(bench.firsts(fetch_2d, make_texture(pitched, sampler()),
                       {reals(2.5f, 0.5f), reals(2.5f, 1.5f), reals(9, 9)}) ==
          std::vector<float>{2, 18, 18});
    CUtexObject texture = 0;
    const CUDA_TEXTURE_DESC plain = sampler();
    linear.res.linear.sizeInBytes = 132;
    CHECK(CU(cuTexObjectCreate, 5000)(&texture, &linear, &plain, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    pitched.res.pitch2D.pitchInBytes = 40;
    CHECK(CU(cuTexObjectCreate, 5000)(&texture, &pitched, &plain, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator texture: layers, cubes and levels") {
    const ImageBench bench;
    const CUarray layers = make_array({2, 1, 3, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED});
    fill_array(layers, std::vector<float>{0, 1, 10, 11, 20, 21});
    const auto in_layer = [](std::uint32_t layer, float x) {
        return Words{layer, reals(x)[0], 0, 0};
    };
    CHECK(bench.firsts("tex.a2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2, %r3, %r3}];",
                       make_texture(resource_of(layers), sampler()),
                       {in_layer(0, 1.5f), in_layer(2, 0.5f), in_layer(9, 0.5f)}) ==
          std::vector<float>{1, 20, 20});
    const CUarray cube = make_array({1, 1, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP});
    fill_array(cube, std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(bench.firsts("tex.cube.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2, %r3, %r3}];",
                       make_texture(resource_of(cube), sampler()),
                       {reals(1, 0.5f, 0), reals(-1), reals(0, 2, 1), reals(0, -1), reals(0, 0, 1),
                        reals(0.5f, 0, -1)}) == std::vector<float>{0, 1, 2, 3, 4, 5});

    CUmipmappedArray mipmapped = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR first{4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    REQUIRE(CU(cuMipmappedArrayCreate, 5000)(&mipmapped, &first, 9) == CUDA_SUCCESS);
    for (unsigned k = 0; k < 3; ++k) {
        CUarray level = nullptr;
        REQUIRE(CU(cuMipmappedArrayGetLevel, 5000)(&level, mipmapped, k) == CUDA_SUCCESS);
        fill_array(level, std::vector<float>(16 >> (2 * k), static_cast<float>(k + 1)));
        CHECK(CU(cuArrayDestroy, 2000)(level) == CUDA_ERROR_INVALID_HANDLE);
    }
    CUarray missing = nullptr;
    CHECK(CU(cuMipmappedArrayGetLevel, 5000)(&missing, mipmapped, 3) == CUDA_ERROR_INVALID_VALUE);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmapped;
    CUDA_TEXTURE_DESC texture =
        sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, normalised);
    texture.maxMipmapLevelClamp = 2;
    const std::vector<Words> wanted{reals(0.5f, 0.5f, 0), reals(0.5f, 0.5f, 0.5f),
                                    reals(0.5f, 0.5f, 1.25f), reals(0.5f, 0.5f, 7)};
    CHECK(bench.firsts("tex.base.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2}];",
                       make_texture(resource, texture),
                       {reals(0.5f, 0.5f), reals(0.9f, 0.1f)}) == std::vector<float>{1, 1});
    const char* const at_level =
        "tex.level.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2}], %r3;";
    CHECK(bench.firsts(at_level, make_texture(resource, texture), wanted) ==
          std::vector<float>{1, 2, 2, 3});
    texture.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
    CHECK(bench.firsts(at_level, make_texture(resource, texture), wanted) ==
          std::vector<float>{1, 1.5f, 2.25f, 3});
    // A step of a whole texel of level 1 per pixel selects that level.
    CHECK(bench.firsts("tex.grad.2d.v4.f32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r1}], {%r2, "
                       "%r3}, {%r3, %r3};",
                       make_texture(resource, texture),
                       {reals(0.5f, 0.5f), reals(0.5f, 0.25f)}) == std::vector<float>{2, 1});
    CHECK(CU(cuMipmappedArrayDestroy, 5000)(mipmapped) == CUDA_SUCCESS);
}

TEST_CASE("emulator texture: a gather returns one component of four texels") {
    const ImageBench bench;
    const CUarray plane =
        make_array({3, 3, 0, CU_AD_FORMAT_UNSIGNED_INT8, 2, CUDA_ARRAY3D_TEXTURE_GATHER});
    std::vector<std::uint8_t> texels;
    for (std::uint8_t k = 0; k < 9; ++k)
        texels.insert(texels.end(), {k, static_cast<std::uint8_t>(100 + k)});
    fill_array(plane, texels);
    const CUtexObject texture = make_texture(
        resource_of(plane),
        sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
    CHECK(bench.run("tld4.r.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2}];", texture,
                    {reals(1, 1)})[0] == Words{3, 4, 1, 0});
    CHECK(bench.run("tld4.g.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}|%p1, [%rd3, {%r1, %r2}];"
                    "@!%p1 mov.u32 %r5, 0;",
                    texture, {reals(2, 2)})[0] == Words{107, 108, 105, 104});
}

TEST_CASE("emulator texture: a handle that isn't a texture is a finding, not a crash") {
    for (const bool destroyed : {false, true}) {
        const ImageBench bench;
        CUtexObject texture = 0x1234;
        if (destroyed) {
            texture = make_texture(resource_of(table_array()), sampler());
            CHECK(CU(cuTexObjectDestroy, 5000)(texture) == CUDA_SUCCESS);
            CHECK(CU(cuTexObjectDestroy, 5000)(texture) == CUDA_ERROR_INVALID_HANDLE);
        }
        bench.run(fetch_1d, texture, {reals(0)}, CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(bench.machine.take_report().find("as a texture, which it isn't") !=
              std::string::npos);
    }
    const ImageBench bench;
    const CUarray array = table_array();
    const CUtexObject texture = make_texture(resource_of(array), sampler());
    CHECK(CU(cuArrayDestroy, 2000)(array) == CUDA_SUCCESS);
    bench.run(fetch_1d, texture, {reals(0)}, CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(bench.machine.take_report().find("whose memory has been freed") != std::string::npos);
}

TEST_CASE("emulator texture: a kernel that runs keeps the object that a program destroys") {
    const ImageBench bench;
    const CUtexObject texture = make_texture(resource_of(table_array()), sampler());
    const auto wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
    CHECK(CU(cuLaunchHostFunc, 10000)(nullptr, wait, nullptr) == CUDA_SUCCESS);
    const auto found = bench.run(fetch_1d, texture, {reals(1)}, CUDA_SUCCESS, [&] {
        CHECK(CU(cuTexObjectDestroy, 5000)(texture) == CUDA_SUCCESS);
    });
    CHECK(real(found[0][0]) == 20);
}

TEST_CASE("emulator texture: an instruction for another shape is a finding") {
    const ImageBench bench;
    const CUtexObject texture = make_texture(resource_of(table_array()), sampler());
    bench.run(fetch_2d, texture, {reals(0)}, CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(bench.machine.take_report().find("an instruction for another shape") !=
          std::string::npos);
}

TEST_CASE("emulator texture: txq and suq tell what an object is") {
    const ImageBench bench;
    const auto answers = [&](std::string_view kind, unsigned long long image) {
        const std::string q(kind);
        const std::string text = q + ".width.b32 %r5, [%rd3];\n" + q +
                                 ".height.b32 %r6, [%rd3];\n" + q + ".depth.b32 %r7, [%rd3];\n" +
                                 q + ".array_size.b32 %r8, [%rd3];";
        return bench.run(text, image, {{0, 0, 0, 0}}).front();
    };
    const CUarray layers = make_array({20, 6, 3, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED});
    const CUarray volume =
        make_array({5, 6, 7, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_SURFACE_LDST});
    const CUtexObject layered = make_texture(
        resource_of(layers),
        sampler(CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES));
    CHECK(answers("txq", layered) == Words{20, 6, 1, 3});
    CHECK(answers("txq", make_texture(resource_of(volume), sampler())) == Words{5, 6, 7, 1});
    CHECK(answers("suq", make_surface(volume)) == Words{5, 6, 7, 1});
    const std::string others =
        "txq.normalized_coords.b32 %r5, [%rd3];\ntxq.num_mipmap_levels.b32 %r6, [%rd3];\n"
        "txq.num_samples.b32 %r7, [%rd3];";
    CHECK(bench.run(others, layered, {{0, 0, 0, 0}}).front() == Words{1, 1, 1, 0});

    CUmipmappedArray mipmapped = nullptr;
    const CUDA_ARRAY3D_DESCRIPTOR first{16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    REQUIRE(CU(cuMipmappedArrayCreate, 5000)(&mipmapped, &first, 3) == CUDA_SUCCESS);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmapped;
    const CUtexObject pyramid = make_texture(
        resource,
        sampler(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES));
    const std::string levels =
        "txq.level.width.b32 %r5, [%rd3], %r1;\ntxq.level.height.b32 %r6, [%rd3], %r1;\n"
        "txq.num_mipmap_levels.b32 %r7, [%rd3];\ntxq.normalized_coords.b32 %r8, [%rd3];";
    CHECK(bench.run(levels, pyramid, {{0, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0}}) ==
          std::vector<Words>{{16, 8, 3, 1}, {8, 4, 3, 1}, {4, 2, 3, 1}, {0, 0, 3, 1}});
    bench.run("suq.width.b32 %r5, [%rd3];", layered, {{0, 0, 0, 0}}, CUDA_ERROR_ILLEGAL_ADDRESS);
}
