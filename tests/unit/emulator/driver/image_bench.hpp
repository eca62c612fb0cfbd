// Arrays, texture and surface objects, and kernels that use them, for the tests of images.
#pragma once

#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator_test {

using Words = std::array<std::uint32_t, 4>;

inline Words reals(float x, float y = 0, float z = 0, float w = 0) {
    return {std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y),
            std::bit_cast<std::uint32_t>(z), std::bit_cast<std::uint32_t>(w)};
}

inline float real(std::uint32_t word) {
    return std::bit_cast<float>(word);
}

/// A kernel whose thread i runs `statement` with its words i of the input in %r1 to %r4 and the
/// handle in %rd3, and writes %r5 to %r8.
inline std::string image_kernel(std::string_view statement) {
    return ".version 8.5\n.target sm_75\n.address_size 64\n"
           ".visible .entry k(.param .u64 image, .param .u64 from, .param .u64 to)\n{\n"
           ".reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"
           "ld.param.u64 %rd3, [image]; ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];\n"
           "mov.u32 %r9, %tid.x; mul.wide.u32 %rd4, %r9, 16;\n"
           "add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;\n"
           "mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; mov.u32 %r8, 0;\n"
           "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd5];\n" +
           std::string(statement) + "\nst.global.v4.b32 [%rd6], {%r5, %r6, %r7, %r8};\nret;\n}\n";
}

struct ImageBench {
    Machine machine{"sm_90"};
    Current scope;

    /// Runs a kernel; `result` is what the wait for it returns. `meanwhile` comes before the wait.
    std::vector<Words> run(
        std::string_view statement, unsigned long long image, const std::vector<Words>& input,
        CUresult result = CUDA_SUCCESS, const std::function<void()>& meanwhile = [] {}) const {
        CUlibrary library = nullptr;
        CUkernel kernel = nullptr;
        const std::string text = image_kernel(statement);
        REQUIRE(CU(cuLibraryLoadData, 12000)(&library, text.c_str(), nullptr, nullptr, 0, nullptr,
                                             nullptr, 0) == CUDA_SUCCESS);
        REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, "k") == CUDA_SUCCESS);
        const std::size_t bytes = input.size() * sizeof(Words);
        CUdeviceptr from = 0;
        CUdeviceptr to = 0;
        REQUIRE(CU(cuMemAlloc, 3020)(&from, bytes) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&to, bytes) == CUDA_SUCCESS);
        CHECK(CU(cuMemcpyHtoD, 3020)(from, input.data(), bytes) == CUDA_SUCCESS);
        void* arguments[] = {&image, &from, &to};
        CHECK(CU(cuLaunchKernel, 4000)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1,
                                       static_cast<unsigned>(input.size()), 1, 1, 0, nullptr,
                                       arguments, nullptr) == CUDA_SUCCESS);
        meanwhile();
        CHECK(CU(cuCtxSynchronize, 2000)() == result);
        std::vector<Words> output(input.size());
        if (result == CUDA_SUCCESS)
            CHECK(CU(cuMemcpyDtoH, 3020)(output.data(), to, bytes) == CUDA_SUCCESS);
        CU(cuMemFree, 3020)(from);
        CU(cuMemFree, 3020)(to);
        CU(cuLibraryUnload, 12000)(library);
        return output;
    }

    /// The first component of each result as a float.
    std::vector<float> firsts(std::string_view statement, unsigned long long image,
                              const std::vector<Words>& input) const {
        std::vector<float> values;
        for (const Words& words : run(statement, image, input))
            values.push_back(real(words[0]));
        return values;
    }
};

inline CUarray make_array(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    CUarray array = nullptr;
    REQUIRE(CU(cuArray3DCreate, 3020)(&array, &descriptor) == CUDA_SUCCESS);
    return array;
}

/// Fills an array with packed texels.
template <class Value>
void fill_array(CUarray array, const std::vector<Value>& texels) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    REQUIRE(CU(cuArray3DGetDescriptor, 3020)(&descriptor, array) == CUDA_SUCCESS);
    CUDA_MEMCPY3D copy{};
    copy.Height = std::max<std::size_t>(descriptor.Height, 1);
    copy.Depth = std::max<std::size_t>(descriptor.Depth, 1);
    copy.WidthInBytes = texels.size() * sizeof(Value) / copy.Height / copy.Depth;
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = texels.data();
    copy.srcPitch = copy.WidthInBytes;
    copy.srcHeight = copy.Height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    CHECK(CU(cuMemcpy3D, 3020)(&copy) == CUDA_SUCCESS);
}

inline CUDA_RESOURCE_DESC resource_of(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
}

inline CUDA_TEXTURE_DESC sampler(CUaddress_mode mode = CU_TR_ADDRESS_MODE_CLAMP,
                                 CUfilter_mode filter = CU_TR_FILTER_MODE_POINT,
                                 unsigned flags = 0) {
    CUDA_TEXTURE_DESC made{};
    for (CUaddress_mode& each : made.addressMode)
        each = mode;
    made.filterMode = filter;
    made.flags = flags;
    return made;
}

inline CUtexObject make_texture(const CUDA_RESOURCE_DESC& resource,
                                const CUDA_TEXTURE_DESC& texture) {
    CUtexObject made = 0;
    REQUIRE(CU(cuTexObjectCreate, 5000)(&made, &resource, &texture, nullptr) == CUDA_SUCCESS);
    return made;
}

inline CUsurfObject make_surface(CUarray array) {
    CUsurfObject made = 0;
    const CUDA_RESOURCE_DESC resource = resource_of(array);
    REQUIRE(CU(cuSurfObjectCreate, 5000)(&made, &resource) == CUDA_SUCCESS);
    return made;
}

}  // namespace lode::emulator_test
