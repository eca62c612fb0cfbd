#include "tests/unit/emulator/driver/image_bench.hpp"

#include <numeric>

using namespace lode::emulator_test;

namespace {

CUDA_MEMCPY2D to_host(CUarray array, void* host, std::size_t bytes, std::size_t rows) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    copy.dstPitch = bytes;
    copy.WidthInBytes = bytes;
    copy.Height = rows;
    return copy;
}

CUresult created(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    const CUresult result = CU(cuArray3DCreate, 3020)(&array, &descriptor);
    if (result == CUDA_SUCCESS) CHECK(CU(cuArrayDestroy, 2000)(array) == CUDA_SUCCESS);
    return result;
}

std::vector<std::uint8_t> numbers(std::size_t count) {
    std::vector<std::uint8_t> made(count);
    std::iota(made.begin(), made.end(), std::uint8_t{0});
    return made;
}

}  // namespace

TEST_CASE("emulator array: creation, descriptors and the end") {
    const Machine machine;
    const Current scope;
    const CUDA_ARRAY_DESCRIPTOR flat{8, 4, CU_AD_FORMAT_HALF, 2};
    CUarray array = nullptr;
    REQUIRE(CU(cuArrayCreate, 3020)(&array, &flat) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_ARRAYS) == 1);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    CUDA_ARRAY_DESCRIPTOR read{};
    CHECK(CU(cuArrayGetDescriptor, 3020)(&read, array) == CUDA_SUCCESS);
    CHECK(read.Width == 8);
    CHECK(read.Height == 4);
    CHECK(read.Format == CU_AD_FORMAT_HALF);
    CHECK(read.NumChannels == 2);
    CUDA_ARRAY3D_DESCRIPTOR whole{};
    CHECK(CU(cuArray3DGetDescriptor, 3020)(&whole, array) == CUDA_SUCCESS);
    CHECK(whole.Depth == 0);
    CHECK(whole.Flags == 0);
    CHECK(CU(cuArrayDestroy, 2000)(array) == CUDA_SUCCESS);
    CHECK(CU(cuArrayDestroy, 2000)(array) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuArrayGetDescriptor, 3020)(&read, array) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(machine.live(LODE_EMULATOR_ARRAYS) == 0);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
}

TEST_CASE("emulator array: impossible descriptors are invalid") {
    const Machine machine;
    const Current scope;
    constexpr auto format = CU_AD_FORMAT_FLOAT;
    CHECK(created({0, 4, 0, format, 1, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 4, 0, format, 3, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 4, 0, static_cast<CUarray_format>(7), 1, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 0, 4, format, 1, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 0, 4, format, 1, CUDA_ARRAY3D_LAYERED}) == CUDA_SUCCESS);
    CHECK(created({4, 4, 5, format, 1, CUDA_ARRAY3D_CUBEMAP}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 2, 6, format, 1, CUDA_ARRAY3D_CUBEMAP}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 4, 12, format, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED}) ==
          CUDA_SUCCESS);
    CHECK(created({131072, 0, 0, format, 1, 0}) == CUDA_SUCCESS);
    CHECK(created({131073, 0, 0, format, 1, 0}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({40000, 0, 0, format, 1, CUDA_ARRAY3D_SURFACE_LDST}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 0, 0, format, 1, CUDA_ARRAY3D_TEXTURE_GATHER}) == CUDA_ERROR_INVALID_VALUE);
    CHECK(created({4, 4, 0, format, 1, CUDA_ARRAY3D_SPARSE}) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(CU(cuArray3DCreate, 3020)(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator array: copies of boxes, between arrays and memory") {
    const Machine machine;
    const Current scope;
    const CUarray array = make_array({4, 3, 0, CU_AD_FORMAT_UNSIGNED_INT8, 2, 0});
    fill_array(array, numbers(24));
    std::array<std::uint8_t, 8> corner{};
    CUDA_MEMCPY2D copy = to_host(array, corner.data(), 4, 2);
    copy.srcXInBytes = 4;
    copy.srcY = 1;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_SUCCESS);
    CHECK(corner == std::array<std::uint8_t, 8>{12, 13, 14, 15, 20, 21, 22, 23});
    copy.srcXInBytes = 6;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_ERROR_INVALID_VALUE);
    copy.srcXInBytes = 0;
    copy.srcY = 2;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_ERROR_INVALID_VALUE);
    copy.srcArray = nullptr;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_ERROR_INVALID_HANDLE);

    const CUarray other = make_array({4, 3, 0, CU_AD_FORMAT_UNSIGNED_INT8, 2, 0});
    CUDA_MEMCPY2D between{};
    between.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    between.srcArray = array;
    between.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    between.dstArray = other;
    between.dstXInBytes = 2;
    between.dstY = 1;
    between.WidthInBytes = 2;
    between.Height = 2;
    CHECK(CU(cuMemcpy2DAsync, 3020)(&between, nullptr) == CUDA_SUCCESS);
    std::vector<std::uint8_t> whole(24, 0xff);
    CHECK(CU(cuMemcpyAtoH, 3020)(whole.data(), other, 0, 24) == CUDA_SUCCESS);
    CHECK(whole[10] == 0);
    CHECK(whole[11] == 1);
    CHECK(whole[18] == 8);
    CHECK(whole[19] == 9);
}

TEST_CASE("emulator array: three dimensions, layers and linear copies") {
    const Machine machine;
    const Current scope;
    const CUarray volume = make_array({2, 2, 3, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0});
    fill_array(volume, numbers(12));
    std::array<std::uint8_t, 2> column{};
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = volume;
    copy.srcXInBytes = 1;
    copy.srcY = 1;
    copy.srcZ = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = column.data();
    copy.WidthInBytes = 1;
    copy.Height = 1;
    copy.Depth = 2;
    CHECK(CU(cuMemcpy3D, 3020)(&copy) == CUDA_SUCCESS);
    CHECK(column == std::array<std::uint8_t, 2>{7, 11});
    copy.Depth = 3;
    CHECK(CU(cuMemcpy3D, 3020)(&copy) == CUDA_ERROR_INVALID_VALUE);

    const CUarray line = make_array({16, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0});
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_SUCCESS);
    const auto source = numbers(16);
    CHECK(CU(cuMemcpyHtoA, 3020)(line, 0, source.data(), 16) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyAtoD, 3020)(memory, line, 4, 8) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyDtoA, 3020)(line, 0, memory, 8) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyAtoA, 3020)(line, 8, line, 0, 2) == CUDA_SUCCESS);
    std::vector<std::uint8_t> read(16);
    CHECK(CU(cuMemcpyAtoHAsync, 3020)(read.data(), line, 0, 16, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    CHECK(read ==
          std::vector<std::uint8_t>{4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 10, 11, 12, 13, 14, 15});
    CHECK(CU(cuMemcpyHtoA, 3020)(line, 8, source.data(), 9) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemcpyHtoA, 3020)(nullptr, 0, source.data(), 1) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator array: texture objects keep their descriptors and refuse impossible ones") {
    const Machine machine;
    const Current scope;
    const CUarray array = make_array({4, 0, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 0});
    const CUDA_RESOURCE_DESC resource = resource_of(array);
    CUDA_TEXTURE_DESC texture = sampler(CU_TR_ADDRESS_MODE_BORDER);
    const CUtexObject made = make_texture(resource, texture);
    CHECK(machine.live(LODE_EMULATOR_IMAGES) == 1);
    CUDA_RESOURCE_DESC read_resource{};
    CUDA_TEXTURE_DESC read_texture{};
    CUDA_RESOURCE_VIEW_DESC view{};
    CHECK(CU(cuTexObjectGetResourceDesc, 5000)(&read_resource, made) == CUDA_SUCCESS);
    CHECK(read_resource.res.array.hArray == array);
    CHECK(CU(cuTexObjectGetTextureDesc, 5000)(&read_texture, made) == CUDA_SUCCESS);
    CHECK(read_texture.addressMode[1] == CU_TR_ADDRESS_MODE_BORDER);
    CHECK(CU(cuTexObjectGetResourceViewDesc, 5000)(&view, made) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuSurfObjectDestroy, 5000)(made) == CUDA_ERROR_INVALID_HANDLE);
    CUtexObject other = 0;
    texture.filterMode = CU_TR_FILTER_MODE_LINEAR;  // What it makes of integers isn't documented.
    CHECK(CU(cuTexObjectCreate, 5000)(&other, &resource, &texture, nullptr) ==
          CUDA_ERROR_NOT_SUPPORTED);
    texture = sampler();
    texture.flags = 1u << 20;
    CHECK(CU(cuTexObjectCreate, 5000)(&other, &resource, &texture, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    texture = sampler();
    CUDA_RESOURCE_DESC dead = resource;
    dead.res.array.hArray = reinterpret_cast<CUarray>(&texture);
    CHECK(CU(cuTexObjectCreate, 5000)(&other, &dead, &texture, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    CUsurfObject surface = 0;
    CHECK(CU(cuSurfObjectCreate, 5000)(&surface, &resource) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator array: what a context leaves behind is a leak") {
    const Machine machine;
    {
        const Current scope;
        make_texture(resource_of(make_array({4, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0})), sampler());
    }
    CHECK(machine.live(LODE_EMULATOR_LEAKS) == 2);
    CHECK(machine.live(LODE_EMULATOR_ARRAYS) == 0);
    CHECK(machine.live(LODE_EMULATOR_IMAGES) == 0);
    CHECK(machine.log().find("a texture or surface object is still alive") != std::string::npos);
    CHECK(machine.log().find("cuArray3DCreate") != std::string::npos);
}
