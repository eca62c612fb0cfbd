// The stand-in for libcudart: copies of boxes, arrays, textures, fills.
#include "tests/unit/emulator/toolkit/cudart_program.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

namespace {

constexpr int image_width = 16;
constexpr int image_height = 8;

std::vector<float> image_values() {
    std::vector<float> values(image_width * image_height);
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
}

cudaChannelFormatDesc floats() {
    return cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
}

}  // namespace

TEST_CASE("cudart: pitched memory, copies and fills of boxes") {
    void* memory = nullptr;
    size_t pitch = 0;
    REQUIRE(cudaMallocPitch(&memory, &pitch, 100, 10) == cudaSuccess);
    CHECK(pitch >= 100);
    const std::vector<char> from(1000, 3);
    std::vector<char> to(1000, 0);
    CHECK(cudaMemcpy2D(memory, pitch, from.data(), 100, 100, 10, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    CHECK(cudaMemset2D(memory, pitch, 5, 50, 10) == cudaSuccess);
    CHECK(cudaMemcpy2D(to.data(), 100, memory, pitch, 100, 10, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    for (int i = 0; i < 1000; ++i)
        CHECK(to[i] == (i % 100 < 50 ? 5 : 3));
    CHECK(cudaMemcpy2D(to.data(), 99, memory, pitch, 100, 10, cudaMemcpyDeviceToHost) ==
          cudaErrorInvalidPitchValue);
    CHECK(cudaFree(memory) == cudaSuccess);

    cudaPitchedPtr box{};
    const cudaExtent extent{64, 4, 3};
    REQUIRE(cudaMalloc3D(&box, extent) == cudaSuccess);
    CHECK(cudaMemset3D(box, 7, extent) == cudaSuccess);
    std::vector<char> all(64 * 4 * 3);
    cudaMemcpy3DParms copy{};
    copy.srcPtr = box;
    copy.dstPtr = {all.data(), 64, 64, 4};
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy) == cudaSuccess);
    CHECK(std::ranges::all_of(all, [](char value) { return value == 7; }));
    CHECK(cudaFree(box.ptr) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
}

TEST_CASE("cudart: arrays keep their form, and rows of them are copied") {
    const auto channels = floats();
    cudaArray_t array = nullptr;
    REQUIRE(cudaMallocArray(&array, &channels, image_width, image_height, 0) == cudaSuccess);
    cudaChannelFormatDesc found{};
    cudaExtent extent{};
    unsigned flags = 1;
    CHECK(cudaArrayGetInfo(&found, &extent, &flags, array) == cudaSuccess);
    CHECK(found.x == 32);
    CHECK(found.y == 0);
    CHECK(found.f == cudaChannelFormatKindFloat);
    CHECK(extent.width == image_width);
    CHECK(extent.height == image_height);
    CHECK(flags == 0);
    const auto values = image_values();
    constexpr size_t row = image_width * sizeof(float);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values.data(), row, row, image_height,
                              cudaMemcpyHostToDevice) == cudaSuccess);
    std::vector<float> part(6);
    CHECK(cudaMemcpy2DFromArray(part.data(), 3 * sizeof(float), array, 2 * sizeof(float), 1,
                                3 * sizeof(float), 2, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(part == std::vector<float>{19, 20, 21, 35, 36, 37});
    CHECK(cudaMemcpy2DFromArray(part.data(), 12, array, 2, 0, 12, 1, cudaMemcpyDeviceToHost) ==
          cudaErrorInvalidValue);
    const cudaChannelFormatDesc wrong{8, 16, 0, 0, cudaChannelFormatKindSigned};
    cudaArray_t none = nullptr;
    CHECK(cudaMallocArray(&none, &wrong, 4, 4, 0) == cudaErrorInvalidChannelDescriptor);
    CHECK(cudaFreeArray(array) == cudaSuccess);
    CHECK(cudaGetLastError() == cudaErrorInvalidChannelDescriptor);
}

TEST_CASE("cudart: texture objects keep what they were made of") {
    const auto channels = floats();
    cudaArray_t array = nullptr;
    REQUIRE(cudaMallocArray(&array, &channels, image_width, image_height, 0) == cudaSuccess);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture{};
    texture.addressMode[0] = cudaAddressModeClamp;
    texture.filterMode = cudaFilterModeLinear;
    texture.readMode = cudaReadModeElementType;
    texture.normalizedCoords = 1;
    texture.borderColor[2] = 0.5F;
    cudaTextureObject_t object = 0;
    REQUIRE(cudaCreateTextureObject(&object, &resource, &texture, nullptr) == cudaSuccess);
    cudaResourceDesc found_resource{};
    cudaTextureDesc found{};
    CHECK(cudaGetTextureObjectResourceDesc(&found_resource, object) == cudaSuccess);
    CHECK(found_resource.res.array.array == array);
    CHECK(cudaGetTextureObjectTextureDesc(&found, object) == cudaSuccess);
    CHECK(found.addressMode[0] == cudaAddressModeClamp);
    CHECK(found.filterMode == cudaFilterModeLinear);
    CHECK(found.readMode == cudaReadModeElementType);
    CHECK(found.normalizedCoords == 1);
    CHECK(found.borderColor[2] == 0.5F);
    CHECK(cudaDestroyTextureObject(object) == cudaSuccess);
    CHECK(cudaDestroyTextureObject(object) != cudaSuccess);
    (void)cudaGetLastError();
    CHECK(cudaFreeArray(array) == cudaSuccess);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_CASE("cudart: copies of bytes run on from row to row of an array") {
    constexpr size_t width = 5;
    constexpr size_t height = 4;
    constexpr size_t count = width * height;
    const auto channels = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t array = nullptr;
    cudaArray_t wider = nullptr;
    REQUIRE(cudaMallocArray(&array, &channels, width, height, 0) == cudaSuccess);
    REQUIRE(cudaMallocArray(&wider, &channels, width + 2, height, 0) == cudaSuccess);
    std::vector<unsigned> zeros(count + 2 * height);
    REQUIRE(cudaMemcpyToArray(array, 0, 0, zeros.data(), count * 4, cudaMemcpyHostToDevice) ==
            cudaSuccess);
    REQUIRE(cudaMemcpyToArray(wider, 0, 0, zeros.data(), zeros.size() * 4,
                              cudaMemcpyHostToDevice) == cudaSuccess);
    // From the third element of the second row into the fourth row: 2, 5 and 3 elements.
    std::vector<unsigned> numbers(10);
    std::iota(numbers.begin(), numbers.end(), 1U);
    CHECK(cudaMemcpyToArray(array, 12, 1, numbers.data(), 40, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    std::vector<unsigned> rows(count);
    REQUIRE(cudaMemcpy2DFromArray(rows.data(), width * 4, array, 0, 0, width * 4, height,
                                  cudaMemcpyDeviceToHost) == cudaSuccess);
    for (size_t i = 0; i < count; ++i)
        CHECK(rows[i] == (i >= 8 && i < 18 ? i - 7 : 0));
    std::vector<unsigned> read(10);
    CHECK(cudaMemcpyFromArray(read.data(), array, 12, 1, 40, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(read == numbers);
    CHECK(cudaMemcpyArrayToArray(wider, 4, 2, array, 12, 1, 40, cudaMemcpyDeviceToDevice) ==
          cudaSuccess);
    std::fill(read.begin(), read.end(), 0U);
    CHECK(cudaMemcpyFromArray(read.data(), wider, 4, 2, 40, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(read == numbers);
    CHECK(cudaMemcpyToArray(array, 12, 1, zeros.data(), 52, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    CHECK(cudaMemcpyToArray(array, 0, height, zeros.data(), 4, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array) == cudaSuccess);
    CHECK(cudaFreeArray(wider) == cudaSuccess);
}
#pragma GCC diagnostic pop

TEST_CASE("cudart: a copy of nothing succeeds past the end of memory") {
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, 256) == cudaSuccess);
    char* const end = static_cast<char*>(memory) + 256;
    CHECK(cudaMemcpy(end, memory, 0, cudaMemcpyDeviceToDevice) == cudaSuccess);
    CHECK(cudaMemcpyAsync(end, end, 0, cudaMemcpyDeviceToDevice, nullptr) == cudaSuccess);
    CHECK(cudaFree(memory) == cudaSuccess);
}
