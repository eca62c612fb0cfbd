// PTX that can't be loaded, and kernels that can't run in PTX that can.
#include "tests/support/text.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

using namespace lode::emulator_test;
using lode::test::contains;

namespace {

struct Load {
    CUresult result;
    std::string error_log;
};

Load load_and_unload(const std::string& ptx) {
    char log[1024] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
    CUlibrary library = nullptr;
    const CUresult result = CU(cuLibraryLoadData, 12000)(&library, ptx.c_str(), options, values, 2,
                                                         nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
    return {result, log};
}

std::string empty_kernel(std::string_view version, std::string_view target) {
    return fmt::format(
        ".version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n", version,
        target);
}

/// One unsupported instruction of each family.
struct Refused {
    const char* opcode;
    const char* operands;
};
constexpr Refused families[] = {
    {"tex.2dms.v4.s32.s32", "{%r1,%r2,%r3,%r4},[%rd1,{%r5,%r6,%r7,%r8}]"},
    {"sured.b.add.1d.u32.trap", "[%rd1,{%r2}],%r1"},
    {"sust.p.1d.b32.trap", "[%rd1,{%r1}],{%r2}"},
};

/// A module with kernels good() and bad(). The unsupported instruction of bad() is on line 12 of
/// the PTX and line 7 of "refused.cu".
std::string with_bad_kernel(const Refused& what) {
    return fmt::format(
        ".version 8.5\n.target sm_90a\n.address_size 64\n.file 1 \"refused.cu\"\n"
        ".visible .entry good()\n{{ ret; }}\n.visible .entry bad()\n{{\n"
        ".reg .b32 %r<10>; .reg .b64 %rd<4>; .reg .f32 %f<8>;\n.loc 1 6 0\nmov.u32 %r1,%tid.x;\n"
        "{0} {1}; .loc 1 8 0\nret;\n}}\n",
        fmt::format(".loc 1 7 0 {}", what.opcode), what.operands);
}

}  // namespace

TEST_CASE("emulator refusal: invalid PTX returns INVALID_PTX, with its line in both logs") {
    const Machine machine;
    const auto outcome = load_and_unload(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nmov.u32;;x\n}");
    CHECK(outcome.result == CUDA_ERROR_INVALID_PTX);
    CHECK(outcome.error_log.starts_with("PTX line 6: "));
    CHECK(contains(machine.log(), outcome.error_log));
    CHECK(machine.take_report() == outcome.error_log);
    const Current scope;
    CUmodule module = nullptr;
    CHECK(CU(cuModuleLoadData, 2000)(&module, "rubbish") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(machine.live(LODE_EMULATOR_MODULES) == 0);
}

TEST_CASE("emulator refusal: PTX newer than the driver runs if all of it is understood") {
    const Machine machine;
    const auto set_version =
        control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version");
    CHECK(load_and_unload(empty_kernel("9.0", "sm_90")).result == CUDA_SUCCESS);
    CHECK(load_and_unload(empty_kernel("9.1", "sm_90")).result == CUDA_SUCCESS);
    const auto newer = load_and_unload(
        ".version 9.1\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\nnovel.u32 1;\n}\n");
    CHECK(newer.result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(contains(newer.error_log, "version 9.1"));
    // A device that reports an older driver version refuses what that driver refuses.
    set_version(12040);
    CHECK(load_and_unload(empty_kernel("8.4", "sm_90")).result == CUDA_SUCCESS);
    CHECK(load_and_unload(empty_kernel("8.5", "sm_90")).result ==
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    set_version(12060);
    CHECK(load_and_unload(empty_kernel("8.5", "sm_90")).result == CUDA_SUCCESS);
}

TEST_CASE("emulator refusal: PTX for another architecture returns INVALID_PTX") {
    {
        const Machine machine("sm_90");
        const auto higher = load_and_unload(empty_kernel("9.0", "sm_100"));
        CHECK(higher.result == CUDA_ERROR_INVALID_PTX);
        CHECK(contains(higher.error_log, "sm_100"));
        CHECK(contains(higher.error_log, "9.0"));
        CHECK(load_and_unload(empty_kernel("9.0", "sm_80")).result == CUDA_SUCCESS);
        CHECK(load_and_unload(empty_kernel("9.0", "sm_90a")).result == CUDA_SUCCESS);
    }
    const Machine machine("sm_100");
    CHECK(load_and_unload(empty_kernel("9.0", "sm_90a")).result == CUDA_ERROR_INVALID_PTX);
    CHECK(load_and_unload(empty_kernel("9.0", "sm_103f")).result == CUDA_ERROR_INVALID_PTX);
    CHECK(load_and_unload(empty_kernel("9.0", "sm_100f")).result == CUDA_SUCCESS);
}

TEST_CASE("emulator refusal: a library is loaded if any device can run it") {
    const Machine machine("sm_75,sm_90");
    CHECK(load_and_unload(empty_kernel("9.0", "sm_90")).result == CUDA_SUCCESS);
    const Current scope(0);
    CUmodule module = nullptr;
    CHECK(CU(cuModuleLoadData, 2000)(&module, empty_kernel("9.0", "sm_90").c_str()) ==
          CUDA_ERROR_INVALID_PTX);
}

TEST_CASE(
    "emulator refusal: only the kernel that can't run is refused, with opcode and both lines") {
    for (const Refused& what : families) {
        CAPTURE(what.opcode);
        const Machine machine;
        CUlibrary library = nullptr;
        REQUIRE(CU(cuLibraryLoadData, 12000)(&library, with_bad_kernel(what).c_str(), nullptr,
                                             nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
        CUkernel kernel = nullptr;
        CHECK(CU(cuLibraryGetKernel, 12000)(&kernel, library, "bad") == CUDA_ERROR_NOT_SUPPORTED);
        const std::string report = machine.take_report();
        CHECK(report ==
              fmt::format("The software device doesn't run {} (refused.cu:7, PTX line 12).",
                          what.opcode));
        CHECK(contains(machine.log(), report));
        CHECK(CU(cuLibraryGetKernel, 12000)(&kernel, library, "good") == CUDA_SUCCESS);
        const Current scope;
        CUmodule module = nullptr;
        REQUIRE(CU(cuLibraryGetModule, 12000)(&module, library) == CUDA_SUCCESS);
        CUfunction function = nullptr;
        CHECK(CU(cuModuleGetFunction, 2000)(&function, module, "bad") == CUDA_ERROR_NOT_SUPPORTED);
        CHECK(machine.take_report() == report);
        CHECK(CU(cuModuleGetFunction, 2000)(&function, module, "good") == CUDA_SUCCESS);
        CHECK(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
              CUDA_SUCCESS);
        CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
        CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
    }
}
