// Surface loads and stores on the software device.
#include "tests/unit/emulator/driver/image_bench.hpp"

using namespace lode::emulator_test;

namespace {

CUarray plane_of_words() {
    const CUarray array =
        make_array({4, 2, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST});
    fill_array(array, std::vector<std::uint32_t>{0, 1, 2, 3, 10, 11, 12, 13});
    return array;
}

std::vector<std::uint32_t> contents(CUarray array, std::size_t count) {
    std::vector<std::uint32_t> words(count);
    CHECK(CU(cuMemcpyAtoH, 3020)(words.data(), array, 0, count * 4) == CUDA_SUCCESS);
    return words;
}

}  // namespace

TEST_CASE("emulator surface: loads and stores address x in bytes") {
    const ImageBench bench;
    const CUarray array = plane_of_words();
    const CUsurfObject surface = make_surface(array);
    const auto read = bench.run("suld.b.2d.b32.trap {%r5}, [%rd3, {%r1, %r2}];", surface,
                                {{0, 0, 0, 0}, {12, 1, 0, 0}});
    CHECK(read[0][0] == 0);
    CHECK(read[1][0] == 13);
    bench.run("sust.b.2d.b32.trap [%rd3, {%r1, %r2}], {%r3};", surface, {{4, 1, 99, 0}});
    CHECK(contents(array, 8) == std::vector<std::uint32_t>{0, 1, 2, 3, 10, 99, 12, 13});
    const auto pair =
        bench.run("suld.b.2d.v2.b32.trap {%r5, %r6}, [%rd3, {%r1, %r2}];", surface, {{8, 0, 0, 0}});
    CHECK(pair[0] == Words{2, 3, 0, 0});
    CHECK(CU(cuSurfObjectDestroy, 5000)(surface) == CUDA_SUCCESS);
}

TEST_CASE("emulator surface: clamp and zero outside of the surface") {
    const ImageBench bench;
    const CUarray array = plane_of_words();
    const CUsurfObject surface = make_surface(array);
    const std::vector<Words> outside{{16, 0, 7, 0}, {~3u, 5, 8, 0}};
    const auto clamped =
        bench.run("suld.b.2d.b32.clamp {%r5}, [%rd3, {%r1, %r2}];", surface, outside);
    CHECK(clamped[0][0] == 3);
    CHECK(clamped[1][0] == 10);
    const auto zero = bench.run("mov.u32 %r5, 5; suld.b.2d.b32.zero {%r5}, [%rd3, {%r1, %r2}];",
                                surface, outside);
    CHECK(zero[0][0] == 0);
    CHECK(zero[1][0] == 0);
    bench.run("sust.b.2d.b32.zero [%rd3, {%r1, %r2}], {%r3};", surface, outside);
    CHECK(contents(array, 8) == std::vector<std::uint32_t>{0, 1, 2, 3, 10, 11, 12, 13});
    bench.run("sust.b.2d.b32.clamp [%rd3, {%r1, %r2}], {%r3};", surface, outside);
    CHECK(contents(array, 8) == std::vector<std::uint32_t>{0, 1, 2, 7, 8, 11, 12, 13});
}

TEST_CASE("emulator surface: lines, layers, cubes, volumes and bytes") {
    const ImageBench bench;
    const CUarray layers = make_array(
        {2, 0, 3, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST});
    fill_array(layers, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 200});
    const char* const in_line =
        ".reg .b16 %rs<2>; suld.b.a1d.b8.trap {%rs1}, [%rd3, {%r1, %r2}]; cvt.u32.u16 %r5, %rs1;";
    CHECK(bench.run(in_line, make_surface(layers), {{2, 1, 0, 0}})[0][0] == 200);
    const CUarray cube = make_array({1, 1, 6, CU_AD_FORMAT_UNSIGNED_INT32, 1,
                                     CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_SURFACE_LDST});
    fill_array(cube, std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5});
    CHECK(bench.run("suld.b.a2d.b32.trap {%r5}, [%rd3, {%r1, %r2, %r3, %r3}];", make_surface(cube),
                    {{4, 0, 0, 0}})[0][0] == 4);
    const CUarray volume = make_array({1, 1, 2, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_SURFACE_LDST});
    fill_array(volume, std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(bench.run("suld.b.3d.v4.b32.zero {%r5, %r6, %r7, %r8}, [%rd3, {%r1, %r2, %r3, %r3}];",
                    make_surface(volume), {{0, 0, 1, 0}})[0] == Words{4, 5, 6, 7});
    const CUarray line =
        make_array({2, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 2, CUDA_ARRAY3D_SURFACE_LDST});
    fill_array(line, std::vector<std::uint32_t>{1, 2, 3, 4});
    CHECK(bench.run("suld.b.1d.b64.trap {%rd7}, [%rd3, {%r1}]; mov.b64 {%r5, %r6}, %rd7;",
                    make_surface(line), {{8, 0, 0, 0}})[0] == Words{3, 4, 0, 0});
}

TEST_CASE("emulator surface: accesses that trap name the place") {
    struct Row {
        Words at;
        CUresult result;
        const char* report;
    };
    const Row rows[] = {
        {{16, 0, 0, 0},
         CUDA_ERROR_ILLEGAL_ADDRESS,
         "reads 4 bytes outside of a surface of 16 bytes by 2 by 1\n  address: (16, 0, 0)"},
        {{0, 2, 0, 0}, CUDA_ERROR_ILLEGAL_ADDRESS, "address: (0, 2, 0)"},
        {{2, 0, 0, 0}, CUDA_ERROR_MISALIGNED_ADDRESS, "x = 2, which isn't a multiple of 4"},
    };
    for (const Row& row : rows) {
        const ImageBench bench;
        bench.run("suld.b.2d.b32.trap {%r5}, [%rd3, {%r1, %r2}];", make_surface(plane_of_words()),
                  {row.at}, row.result);
        const std::string report = bench.machine.take_report();
        CHECK_MESSAGE(report.find(row.report) != std::string::npos, report);
        CHECK(report.find("PTX line 12") != std::string::npos);
    }
}

TEST_CASE("emulator surface: a texture's handle isn't a surface") {
    const ImageBench bench;
    const CUtexObject texture = make_texture(resource_of(plane_of_words()), sampler());
    bench.run("suld.b.2d.b32.zero {%r5}, [%rd3, {%r1, %r2}];", texture, {{0, 0, 0, 0}},
              CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(bench.machine.take_report().find("as a surface, which it isn't") != std::string::npos);
}
