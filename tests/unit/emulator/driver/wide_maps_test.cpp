// cuTensorMapEncodeIm2colWide: the limits that the CUDA Driver API gives its arguments, and a
// kernel that loads with its map.
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <numeric>

using namespace lode::emulator_test;

namespace {

/// The arguments of an encoding, by default of 2 images of 7 x 9 pixels with 32 words.
struct Encoding {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
    cuuint32_t rank = 4;
    CUdeviceptr address = 0x1000;
    std::array<cuuint64_t, 5> extents{32, 9, 7, 2, 1};
    std::array<cuuint64_t, 4> strides{128, 1152, 8064, 16128};
    int lower = -1, upper = -1;
    cuuint32_t channels = 32, pixels = 16;
    std::array<cuuint32_t, 5> steps{1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapIm2ColWideMode mode = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

    CUresult into(CUtensorMap& map) const {
        return CU(cuTensorMapEncodeIm2colWide, 12080)(
            &map, type, rank, reinterpret_cast<void*>(address), extents.data(), strides.data(),
            lower, upper, channels, pixels, steps.data(), interleave, mode, swizzle, promotion,
            fill);
    }
};

/// The result of the default encoding after a change.
template <class Change>
CUresult changed(Change&& change) {
    Encoding encoding;
    change(encoding);
    CUtensorMap map;
    return encoding.into(map);
}

}  // namespace

TEST_CASE("emulator wide maps: arguments within the limits are accepted") {
    const Machine machine("sm_100");
    const Current scope;
    CHECK(changed([](Encoding&) {}) == CUDA_SUCCESS);
    for (const cuuint32_t rank : {3u, 5u})
        CHECK(changed([&](Encoding& e) { e.rank = rank; }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) { e.lower = -32768; }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) { e.upper = 32767; }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) { e.lower = 7; }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) { e.pixels = 1024; }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) {
              e.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
              e.channels = 128;
          }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) {
              e.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
              e.channels = 16;
          }) == CUDA_SUCCESS);
    CHECK(changed([](Encoding& e) { e.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B; }) ==
          CUDA_SUCCESS);
    // Columns of 128 pixels ignore the number of pixels.
    for (const cuuint32_t pixels : {0u, 1025u}) {
        CHECK(changed([&](Encoding& e) {
                  e.mode = CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
                  e.pixels = pixels;
              }) == CUDA_SUCCESS);
    }
    for (const auto type :
         {CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
          CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B}) {
        CHECK(changed([&](Encoding& e) {
                  e.type = type;
                  e.channels = 128;
                  e.extents[0] = 128;
              }) == CUDA_SUCCESS);
    }
}

TEST_CASE("emulator wide maps: arguments beyond the limits are CUDA_ERROR_INVALID_VALUE") {
    const Machine machine("sm_100");
    const Current scope;
    const auto refuses = [](auto change) { return changed(change) == CUDA_ERROR_INVALID_VALUE; };
    for (const cuuint32_t rank : {0u, 2u, 6u})
        CHECK(refuses([&](Encoding& e) { e.rank = rank; }));
    CHECK(refuses([](Encoding& e) { e.lower = -32769; }));
    CHECK(refuses([](Encoding& e) { e.upper = 32768; }));
    // From 8 on, the box that ends before 9 - 1 is empty.
    CHECK(refuses([](Encoding& e) { e.lower = 8; }));
    CHECK(refuses([](Encoding& e) { e.channels = 0; }));
    CHECK(refuses([](Encoding& e) {
        e.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
        e.channels = 257;
    }));
    // More bytes than the span of the swizzle.
    CHECK(refuses([](Encoding& e) { e.channels = 36; }));
    CHECK(refuses([](Encoding& e) { e.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }));
    for (const cuuint32_t pixels : {0u, 1025u})
        CHECK(refuses([&](Encoding& e) { e.pixels = pixels; }));
    for (const auto swizzle :
         {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
          CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B}) {
        CHECK(refuses([&](Encoding& e) {
            e.swizzle = swizzle;
            e.channels = 8;
        }));
    }
    CHECK(refuses([](Encoding& e) { e.steps[1] = 9; }));
    CHECK(refuses([](Encoding& e) { e.steps[2] = 0; }));
    CHECK(refuses([](Encoding& e) { e.address = 0x1008; }));
    CHECK(refuses([](Encoding& e) { e.strides[0] = 136; }));
    CHECK(refuses([](Encoding& e) { e.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; }));
    for (const auto type :
         {CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B}) {
        const auto packed = [&](auto change) {
            return refuses([&](Encoding& e) {
                e.type = type;
                e.channels = 128;
                e.extents[0] = 128;
                change(e);
            });
        };
        CHECK(packed([](Encoding& e) { e.channels = 64; }));
        CHECK(packed([](Encoding& e) { e.extents[0] = 192; }));
        CHECK(packed([](Encoding& e) { e.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }));
    }
}

TEST_CASE("emulator wide maps: they are for compute capability 10.0 and later") {
    const Machine machine("sm_90");
    const Current scope;
    CHECK(changed([](Encoding&) {}) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator wide maps: a kernel loads with one, on every device that has them") {
    constexpr const char* ptx =
        ".version 8.7\n.target sm_100\n.address_size 64\n"
        ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n{\n"
        ".reg .pred %p<2>;\n.reg .b16 %h<2>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n"
        ".shared .align 1024 .b8 room[2048];\n.shared .align 8 .b64 bar;\n"
        "mov.b64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\nld.param.u64 %rd2, [out];\n"
        "mov.u32 %r1, room;\nmov.u32 %r2, bar;\nmov.u32 %r3, 0;\nmov.u32 %r4, 3;\n"
        "mov.u32 %r5, 2;\nmov.u16 %h1, 0;\nmov.u16 %h0, 2;\n"
        "mbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.async.shared::cta;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 2048;\n"
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
        "[%r1], [%rd1, {%r3, %r4, %r5, %r3}], [%r2], {%h0, %h1};\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;\n@!%p1 bra W;\n"
        "L: add.u32 %r6, %r1, %r3;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd2], %r7;\n"
        "add.u64 %rd2, %rd2, 4;\nadd.u32 %r3, %r3, 4;\nsetp.lt.u32 %p1, %r3, 2048;\n@%p1 bra L;\n"
        "ret;\n}\n";
    for (const char* device : {"sm_100", "sm_120"}) {
        CAPTURE(device);
        const Machine machine(device);
        const Current scope;
        CUmodule module = nullptr;
        CUfunction kernel = nullptr;
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, ptx) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&kernel, module, "k") == CUDA_SUCCESS);
        std::vector<unsigned> words(32 * 9 * 7 * 2);
        std::iota(words.begin(), words.end(), 1u);
        CUdeviceptr tensor = 0, out = 0;
        REQUIRE(CU(cuMemAlloc, 3020)(&tensor, words.size() * 4) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&out, 2048) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemcpyHtoD, 3020)(tensor, words.data(), words.size() * 4) == CUDA_SUCCESS);
        // The box has the pixels from -1 to 7; 14 of them and a halo of 2.
        Encoding encoding;
        encoding.address = tensor;
        encoding.pixels = 14;
        CUtensorMap map;
        REQUIRE(encoding.into(map) == CUDA_SUCCESS);
        void* arguments[] = {&map, &out};
        REQUIRE(CU(cuLaunchKernel, 4000)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments,
                                         nullptr) == CUDA_SUCCESS);
        std::vector<unsigned> found(512);
        REQUIRE(CU(cuMemcpyDtoH, 3020)(found.data(), out, 2048) == CUDA_SUCCESS);
        for (unsigned row = 0; row < 16; ++row) {
            // W 3 to 7 of image 0, then -1 to 7 of image 1, then -1 of image 2, which isn't there.
            const int w = row < 5 ? int(row) + 3 : int(row - 5) % 9 - 1;
            const unsigned image = row < 5 ? 0 : 1 + (row - 5) / 9;
            for (unsigned word = 0; word < 32; ++word) {
                const unsigned at = row * 32 + ((word / 4 ^ row % 8) * 4 + word % 4);
                const bool inside = w >= 0 && image < 2;
                CHECK(found[at] ==
                      (inside ? ((image * 7 + 2) * 9 + unsigned(w)) * 32 + word + 1 : 0));
            }
        }
        CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
        CHECK(CU(cuMemFree, 3020)(tensor) == CUDA_SUCCESS);
        CHECK(CU(cuMemFree, 3020)(out) == CUDA_SUCCESS);
    }
}
