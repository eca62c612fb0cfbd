// Instructions of PTX 9.1 to 9.5, and sm_107.
#include "tests/unit/emulator/driver/newer_ptx.hpp"

#include <array>
#include <cstring>
#include <string>

using namespace lode::emulator_test;

namespace {

CUresult accepted_by(std::string_view instruction, std::string_view version,
                     std::string_view target) {
    std::array<unsigned, 128> words{};
    return run_newer(newer_ptx(instruction, version, target), words);
}

}  // namespace

TEST_CASE("emulator PTX 9.3: layouts and kinds of phases of mbarriers") {
    const Machine machine("sm_90");
    for (const unsigned layout : {0U, 1U}) {
        std::array<unsigned, 128> words{};
        const std::string bit = "selp.u32 %r2, 1, 0, ";
        std::string body =
            ".shared .align 8 .b64 bar;\nmov.u32 %r1, %tid.x;\n"
            "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
            "mbarrier.init.layout::v" +
            std::to_string(layout) +
            ".shared::cta.b64 [bar], 2;\n"
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n"
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n";
        unsigned at = 0;
        const auto ask = [&](const std::string& instruction, const std::string& predicate) {
            body += instruction + "\n" + bit + predicate + ";\nst.global.u32 [%rd1+" +
                    std::to_string(4 * at++) + "], %r2;\n";
        };
        const std::string check = "mbarrier.check_layout.layout::v";
        const std::string wait = "mbarrier.test_wait.phase_type::primary.shared::cta.b64 ";
        const std::string parity =
            "mbarrier.try_wait.parity.phase_type::conditional.shared::cta.b64";
        ask(check + "0.shared::cta.b64 %p2, [bar];", "%p2");
        ask(check + "1.shared::cta.b64 %p2, [bar];", "%p2");
        body += "mbarrier.arrive.shared::cta.b64 %rd2, [bar];\n";
        ask(wait + "%p2|%p3, [bar], %rd2;", "%p2");
        body +=
            "mbarrier.arrive.shared::cta.b64 %rd3, [bar];\nmov.b16 %h1, 7;\n"
            "cvt.u8.u16 %y1, %h1;\nsetp.eq.u32 %p3, %r1, %r1;\n";
        ask(wait + "%p2|%p3, %y1, [bar], %rd2;", "%p2");
        ask("cvt.u32.u8 %r3, %y1;", "%p3");
        ask("setp.ne.u32 %p4, %r3, 0;", "%p4");
        ask(parity + " %p2, [bar], 0;", "%p2");
        ask(parity + " %p2, [bar], 1;", "%p2");
        ask(check + "1.shared::cta.b64 %p2, [bar];", "%p2");
        body += "DONE:";
        REQUIRE(run_newer(newer_ptx(body, "9.3", "sm_90"), words) == CUDA_SUCCESS);
        const unsigned want[] = {1 - layout, layout, 0, 1, 0, 0, 1, 0, layout};
        for (unsigned k = 0; k < at; ++k) {
            CAPTURE(k);
            CHECK(words[k] == want[k]);
        }
    }
}

TEST_CASE("emulator PTX 9.2: a bulk copy ignores bytes outside an allocation") {
    const Machine machine("sm_90");
    const Current scope;
    const auto copy = [](unsigned first, unsigned last) {
        return newer_ptx(
            ".shared .align 16 .b8 room[48];\n.shared .align 8 .b64 bar;\n"
            "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
            "st.shared.v4.u32 [room], {-1, -1, -1, -1};\n"
            "st.shared.v4.u32 [room+32], {-1, -1, -1, -1};\n"
            "mbarrier.init.shared.b64 [bar], 1;\n"
            "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48;\n"
            "mov.u32 %r2, " +
                std::to_string(first) +
                ";\ncp.async.bulk.weak"
                ".shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [room], "
                "[%rd1], 48, %r2, " +
                std::to_string(last) +
                ", [bar];\n"
                "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n"
                "@!%p2 bra WAIT;\nld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [room];\n"
                "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};\n"
                "ld.shared.v2.u32 {%r3, %r4}, [room+32];\n"
                "st.global.v2.u32 [%rd1+32], {%r3, %r4};\nDONE:",
            "9.3", "sm_90");
    };
    const auto run = [&](unsigned first, unsigned last, std::array<unsigned, 10>& words) {
        CUmodule module = nullptr;
        CUfunction kernel = nullptr;
        CUdeviceptr memory = 0;
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, copy(first, last).c_str()) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&kernel, module, "k") == CUDA_SUCCESS);
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, sizeof(words)) == CUDA_SUCCESS);
        REQUIRE(CU(cuMemcpyHtoD, 3020)(memory, words.data(), sizeof(words)) == CUDA_SUCCESS);
        void* arguments[] = {&memory};
        REQUIRE(CU(cuLaunchKernel, 4000)(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments,
                                         nullptr) == CUDA_SUCCESS);
        return CU(cuMemcpyDtoH, 3020)(words.data(), memory, sizeof(words));
    };
    std::array<unsigned, 10> words{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    REQUIRE(run(6, 11, words) == CUDA_SUCCESS);
    CHECK(words[0] == 0xffffffff);
    CHECK(words[1] == 0x0000ffff);
    CHECK(words[2] == 3);
    CHECK(words[3] == 4);
    CHECK(words[8] == 9);
    CHECK(words[9] == 0xffffff0a);
    std::array<unsigned, 10> others{};
    CHECK(run(0, 7, others) == CUDA_ERROR_ILLEGAL_ADDRESS);  // 40 bytes, of which it reads 41.
}

TEST_CASE("emulator PTX 9.4: a copy of a tensor at another address than its map's") {
    const Machine machine("sm_107");
    const Current scope;
    CUdeviceptr elsewhere = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&elsewhere, 64) == CUDA_SUCCESS);
    CUtensorMap map;
    const cuuint64_t extent = 16;
    const cuuint64_t no_strides = 0;
    const cuuint32_t box = 4;
    const cuuint32_t step = 1;
    REQUIRE(CU(cuTensorMapEncodeTiled, 12000)(
                &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 1, reinterpret_cast<void*>(elsewhere),
                &extent, &no_strides, &box, &step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    // The words have the map, a tensor to load from, and one to store to.
    std::array<unsigned, 128> given{};
    static_assert(sizeof(map) == 32 * sizeof(unsigned));
    std::memcpy(given.data(), &map, sizeof(map));
    for (unsigned k = 32; k < 128; ++k)
        given[k] = 1000 + k;
    const auto ptx = [](const std::string& first) {
        return newer_ptx(
            ".shared .align 128 .b8 room[16];\n.shared .align 8 .b64 bar;\n"
            "mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
            "mbarrier.init.shared.b64 [bar], 1;\n"
            "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\nadd.u64 %rd2, %rd1, " +
                first +
                ";\nadd.u64 %rd3, %rd1, 384;\nmov.u32 %r2, 8;\nmov.u32 %r3, 4;\n"
                "applypriority.async.bulk.tensor.1d.global.bulk_group.L2::evict_normal"
                ".override::global_address [%rd1, %rd2, {%r2}];\n"
                "cp.async.bulk.prefetch.tensor.1d.L2.global.L2::evict_last"
                ".override::global_address [%rd1, %rd2, {%r2}];\n"
                "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
                ".override::global_address [room], [%rd1, %rd2, {%r2}], [bar];\n"
                "WAIT:\nmbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n"
                "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group"
                ".override::global_address [%rd1, %rd3, {%r3}], [room];\n"
                "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group"
                ".override::global_address [%rd1, %rd3, {%r2}], [room];\n"
                "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nDONE:",
            "9.4", "sm_107f");
    };
    std::array<unsigned, 128> words = given;
    REQUIRE(run_newer(ptx("128"), words) == CUDA_SUCCESS);
    for (unsigned k = 0; k < 128; ++k) {
        CAPTURE(k);
        const unsigned added = k >= 104 && k < 108 ? 1000 + k - 64 : 0;
        CHECK(words[k] == (k >= 100 && k < 104 ? 1000 + k - 60 : given[k] + added));
    }
    std::array<unsigned, 16> others{1};
    REQUIRE(CU(cuMemcpyDtoH, 3020)(others.data(), elsewhere, sizeof(others)) == CUDA_SUCCESS);
    CHECK(others == std::array<unsigned, 16>{});
    CHECK(accepted_by(".reg .b16 %s<2>;\nmov.b16 %s1, 4;\nmov.u32 %r2, 0;\n"
                      "cp.async.bulk.prefetch.tensor.1d.L2.global.override::global_address"
                      ".override::global_dim [%rd1, %rd1, {%s1}, {%r2}];",
                      "9.4", "sm_107f") == CUDA_ERROR_NOT_SUPPORTED);
    words = given;
    CHECK(run_newer(ptx("132"), words) == CUDA_ERROR_MISALIGNED_ADDRESS);
}

TEST_CASE("emulator PTX 9.4: the priority of memory in caches") {
    const Machine machine("sm_107");
    std::array<unsigned, 128> words{5};
    const auto change = [&](const std::string& size) {
        return run_newer(newer_ptx("mov.u32 %r1, " + size +
                                       ";\napplypriority.async.bulk.global.bulk_group"
                                       ".L2::evict_normal [%rd1], %r1;\n"
                                       "cp.async.bulk.prefetch.L2.global.L2::evict_last [%rd1], "
                                       "%r1;",
                                   "9.4", "sm_107f"),
                         words);
    };
    CHECK(change("512") == CUDA_SUCCESS);
    CHECK(words[0] == 5);
    CHECK(change("0x100000") == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("emulator PTX 9.4: what is refused by name on sm_107") {
    const Machine machine("sm_107");
    for (const char* instruction :
         {"createpolicy.range.fabric.L2::evict_first.b64 %rd2, [%r1, %rd1], 64, 128;",
          ".minperctamemory 16;"}) {
        CAPTURE(instruction);
        CHECK(accepted_by(instruction, "9.4", "sm_107f") != CUDA_SUCCESS);
    }
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
        {"fence.proxy.alias.acquire.sys;", "9.3", "9.4", "sm_90"},
        {"fence.proxy.generic::fabric.alias.release.sys;", "9.2", "9.3", "sm_100"},
        {"fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;", "9.3",
         "9.4", "sm_90"},
        {"ld.global.proxy::readonly.u32 %r1, [%rd1];", "9.3", "9.4", "sm_90"},
        {"trace.mark 7;", "9.4", "9.5", "sm_107f"},
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
    CHECK(accepted_by("griddepcontrol.newest;", "9.5", "sm_100") ==
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(accepted_by("fabric.submit;", "9.5", "sm_100") == CUDA_ERROR_NOT_SUPPORTED);
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
