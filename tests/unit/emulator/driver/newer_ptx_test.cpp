// Instructions of PTX 9.1 to 9.5, and sm_107.
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

using namespace lode::emulator_test;

namespace {

std::string newer_ptx(std::string_view body, std::string_view version, std::string_view target) {
    return ".version " + std::string(version) + "\n.target " + std::string(target) +
           "\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
           ".reg .u64 %rd<8>;\n.reg .u32 %r<8>;\n.reg .f32 %f<8>;\nld.param.u64 %rd1, [p];\n" +
           std::string(body) + "\nret;\n}\n";
}

/// Runs a kernel of one warp on 128 words; the result of the call that fails otherwise.
CUresult run_newer(const std::string& ptx, std::array<unsigned, 128>& words) {
    const Current scope;
    CUmodule module = nullptr;
    if (const CUresult state = CU(cuModuleLoadData, 2000)(&module, ptx.c_str());
        state != CUDA_SUCCESS)
        return state;
    CUfunction kernel = nullptr;
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, sizeof(words)) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemcpyHtoD, 3020)(memory, words.data(), sizeof(words)) == CUDA_SUCCESS);
    CUresult state = CU(cuModuleGetFunction, 2000)(&kernel, module, "k");
    void* arguments[] = {&memory};
    if (state == CUDA_SUCCESS)
        state = CU(cuLaunchKernel, 4000)(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    if (state == CUDA_SUCCESS) state = CU(cuMemcpyDtoH, 3020)(words.data(), memory, sizeof(words));
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    return state;
}

CUresult accepted_by(std::string_view instruction, std::string_view version,
                     std::string_view target) {
    std::array<unsigned, 128> words{};
    return run_newer(newer_ptx(instruction, version, target), words);
}

}  // namespace

TEST_CASE("emulator PTX 9.5: sin and cos of cycles") {
    const Machine machine("sm_107");
    const float cycles[] = {0.0F,     -0.0F,   0.125F, 0.25F,   0.5F,   0.75F,      1.0F,
                            -0.0625F, 1000.5F, 0.3F,   -12.34F, 1e-40F, 16777216.0F};
    for (const float cycle : cycles) {
        CAPTURE(cycle);
        std::array<unsigned, 128> words{};
        words[0] = std::bit_cast<unsigned>(cycle);
        REQUIRE(run_newer(newer_ptx("ld.global.f32 %f1, [%rd1];\n"
                                    "sin.approx.ftz.2pi.f32 %f2, %f1;\n"
                                    "cos.approx.ftz.2pi.f32 %f3, %f1;\n"
                                    "st.global.f32 [%rd1+4], %f2;\nst.global.f32 [%rd1+8], %f3;",
                                    "9.5", "sm_107"),
                          words) == CUDA_SUCCESS);
        const double turn = std::remainder(static_cast<double>(cycle), 1.0);
        const double angle = 2 * std::numbers::pi * turn;
        const float sine = std::bit_cast<float>(words[1]);
        CHECK(std::fabs(static_cast<double>(sine) - std::sin(angle)) < 1e-6);
        CHECK(std::fabs(static_cast<double>(std::bit_cast<float>(words[2])) - std::cos(angle)) <
              1e-6);
        if (cycle == 0) CHECK(std::signbit(sine) == std::signbit(cycle));
    }
    std::array<unsigned, 128> words{std::bit_cast<unsigned>(INFINITY)};
    REQUIRE(run_newer(newer_ptx("ld.global.f32 %f1, [%rd1];\nsin.approx.ftz.2pi.f32 %f2, %f1;\n"
                                "st.global.f32 [%rd1+4], %f2;",
                                "9.5", "sm_75"),
                      words) == CUDA_SUCCESS);
    CHECK(std::isnan(std::bit_cast<float>(words[1])));
}

TEST_CASE("emulator PTX 9.3: products without carries") {
    const Machine machine("sm_80");
    std::array<unsigned, 128> words{};
    REQUIRE(run_newer(newer_ptx("mov.u64 %rd2, 0x8000000000000003;\nmov.u64 %rd3, 5;\n"
                                "mov.u64 %rd4, 1;\nclmad.lo.u64 %rd5, %rd2, %rd3, %rd4;\n"
                                "clmad.hi.s64 %rd6, %rd2, %rd3, %rd4;\n"
                                "st.global.u64 [%rd1], %rd5;\nst.global.u64 [%rd1+8], %rd6;",
                                "9.3", "sm_80"),
                      words) == CUDA_SUCCESS);
    CHECK(words[0] == 0xe);  // 3 * 5 = 15 without carries, and 1.
    CHECK(words[1] == 0x80000000);
    CHECK(words[2] == 3);  // The top bit times 5 is 2, and 1.
    CHECK(words[3] == 0);
}

TEST_CASE("emulator PTX 9.4: ldmatrix widens signed numbers of 4 bits") {
    const Machine machine("sm_90");
    std::array<unsigned, 128> words{};
    // Row r has 8 bytes at 16 * r; its elements are r, r + 1, … modulo 16.
    for (unsigned row = 0; row < 8; ++row) {
        for (unsigned k = 0; k < 16; ++k)
            words[4 * row + k / 8] |= ((row + k) & 15) << (4 * (k % 8));
    }
    REQUIRE(run_newer(newer_ptx(".shared .align 16 .b8 s[128];\n"
                                "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                                "add.u64 %rd3, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\n"
                                "shl.b32 %r3, %r1, 2;\nmov.u32 %r4, s;\nadd.u32 %r3, %r3, %r4;\n"
                                "st.shared.u32 [%r3], %r2;\nbar.sync 0;\n"
                                "and.b32 %r5, %r1, 7;\nshl.b32 %r5, %r5, 4;\n"
                                "add.u32 %r5, %r5, %r4;\n"
                                "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r6}, [%r5];\n"
                                "st.global.u32 [%rd3], %r6;",
                                "9.4", "sm_90a"),
                      words) == CUDA_SUCCESS);
    bool same = true;
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned k = 0; k < 4; ++k) {
            const unsigned number = (lane / 4 + 4 * (lane % 4) + k) & 15;
            const unsigned wide = number < 8 ? number : 0xf0 | number;
            same = same && (words[lane] >> (8 * k) & 0xff) == wide;
        }
    }
    CHECK(same);
}

TEST_CASE("emulator PTX 9.1 to 9.5: what only orders or hints, and what needs a version") {
    const Machine machine("sm_107");
    struct Row {
        const char* instruction;
        const char *before, *since;
        const char* target;
    };
    constexpr Row rows[] = {
        {"fence.alias.sync_restrict::read.release.sys;", "9.4", "9.5", "sm_90"},
        {"cp.async.bulk.wait_group.sync_restrict::proxy::async 0;", "9.4", "9.5", "sm_90"},
        {"sin.approx.ftz.2pi.f32 %f1, 0f3F800000;", "9.4", "9.5", "sm_90"},
        {"mov.u32 %r1, %locality_domain_id;", "9.4", "9.5", "sm_100"},
        {"mov.u32 %r1, %locality_domain_supplemental_sm;", "9.4", "9.5", "sm_100"},
        {"prefetch.global.L1::32B.valid_addr [%rd1];", "9.3", "9.4", "sm_90"},
        {"ld.mmio.acquire.sys.global.u32 %r1, [%rd1];", "9.2", "9.3", "sm_90"},
        {"st.mmio.release.sys.global.u32 [%rd1], %r1;", "9.2", "9.3", "sm_90"},
        {"clmad.lo.u64 %rd2, %rd1, %rd1, %rd1;", "9.2", "9.3", "sm_90"}};
    for (const Row& row : rows) {
        CAPTURE(row.instruction);
        CHECK(accepted_by(row.instruction, row.since, row.target) == CUDA_SUCCESS);
        CHECK(accepted_by(row.instruction, row.before, row.target) ==
              CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    }
    // The software device is for CUDA 13.5, but has only some of what is newer than PTX 9.0.
    CHECK(accepted_by("fabric.submit;", "9.5", "sm_100") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

TEST_CASE("emulator sm_107: its targets, and what runs on it") {
    const Machine machine("sm_107,sm_103");
    for (const char* target : {"sm_107", "sm_107a", "sm_107f", "sm_103f", "sm_100f", "sm_100"}) {
        CAPTURE(target);
        CHECK(accepted_by("", "9.4", target) == CUDA_SUCCESS);
    }
    for (const char* target : {"sm_107", "sm_107a", "sm_107f"})
        CHECK(accepted_by("", "9.3", target) == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(accepted_by("", "9.4", "sm_103a") == CUDA_ERROR_INVALID_PTX);
    CHECK(accepted_by("", "9.4", "sm_110f") == CUDA_ERROR_INVALID_PTX);
    // Tensor memory is part of the family's targets only.
    constexpr auto* permit = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";
    CHECK(accepted_by(permit, "9.4", "sm_107") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(accepted_by("redux.sync.min.f32 %f1, %f2, 0xffffffff;", "9.4", "sm_107f") ==
          CUDA_SUCCESS);
    CHECK(accepted_by("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;", "9.4", "sm_107f") ==
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    int threads = 0;
    CHECK(CU(cuDeviceGetAttribute, 2000)(
              &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0) == CUDA_SUCCESS);
    CHECK(threads == 1024);
}
