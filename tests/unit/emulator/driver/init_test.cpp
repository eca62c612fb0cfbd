#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

using namespace lode::emulator_test;

namespace {

struct Lookup {
    CUresult result;
    void* address;
    CUdriverProcAddressQueryResult status;
};

Lookup look_up(const char* name, int version, cuuint64_t flags = 0) {
    const auto get =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(library_symbol("cuGetProcAddress_v2"));
    Lookup lookup{};
    lookup.result = get(name, &lookup.address, version, flags, &lookup.status);
    return lookup;
}

}  // namespace

TEST_CASE("emulator init: calls before cuInit return NOT_INITIALIZED") {
    const Machine machine("sm_90", false);
    int count = 0;
    CHECK(CU(cuDeviceGetCount, 2000)(&count) == CUDA_ERROR_NOT_INITIALIZED);
    int version = 0;
    CHECK(CU(cuDriverGetVersion, 2020)(&version) == CUDA_SUCCESS);
    CHECK(version == 13050);
    CHECK(CU(cuInit, 2000)(1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuInit, 2000)(0) == CUDA_SUCCESS);
    CHECK(CU(cuInit, 2000)(0) == CUDA_SUCCESS);
    CHECK(CU(cuDeviceGetCount, 2000)(&count) == CUDA_SUCCESS);
    CHECK(count == 1);
}

TEST_CASE("emulator init: LODE_EMULATOR_DEVICES selects the devices") {
    setenv("LODE_EMULATOR_DEVICES", "sm_75, sm_90,sm_120", 1);
    const Machine machine(nullptr);
    int count = 0;
    CHECK(CU(cuDeviceGetCount, 2000)(&count) == CUDA_SUCCESS);
    CHECK(count == 3);
    unsetenv("LODE_EMULATOR_DEVICES");
}

TEST_CASE("emulator init: cuInit without devices returns NO_DEVICE") {
    const Machine machine("none", false);
    CHECK(CU(cuInit, 2000)(0) == CUDA_ERROR_NO_DEVICE);
}

TEST_CASE("emulator init: invalid values of environment variables are refused and explained") {
    const Machine machine(nullptr, false);
    const auto refused = [&](const char* variable, const char* value, const char* sentence) {
        setenv(variable, value, 1);
        CHECK(CU(cuInit, 2000)(0) == CUDA_ERROR_INVALID_VALUE);
        CHECK(machine.log().find(sentence) != std::string::npos);
        unsetenv(variable);
    };
    refused("LODE_EMULATOR_DEVICES", "sm_90,sm_91", "contains 'sm_91'");
    refused("LODE_EMULATOR_DEVICES", "sm_90a", "contains 'sm_90a'");
    refused("LODE_EMULATOR_DEVICES", "90", "Did you mean 'sm_90'?");
    refused("LODE_EMULATOR_DEVICES", "sm_90,none", "contains 'none' beside other devices");
    refused("LODE_EMULATOR_CHECK", "memory,speed", "contains 'speed'");
    refused("LODE_EMULATOR_SEED", "-1", "LODE_EMULATOR_SEED is '-1'");
    refused("LODE_EMULATOR_WORKERS", "many", "LODE_EMULATOR_WORKERS is 'many'");
}

TEST_CASE("emulator init: calls in a forked child are refused") {
    const Machine machine;
    const pid_t child = fork();
    if (child == 0) {
        int count = 0;
        const bool refused = CU(cuDeviceGetCount, 2000)(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                             CU(cuInit, 2000)(0) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("emulator entry points: the requested version selects the form") {
    const Machine machine;
    CHECK(look_up("cuMemAlloc", 3020).address == library_symbol("cuMemAlloc_v2"));
    CHECK(look_up("cuMemAlloc", 13000).address == library_symbol("cuMemAlloc_v2"));
    CHECK(look_up("cuMemAlloc", 2000).address == library_symbol("cuMemAlloc"));
    CHECK(look_up("cuCtxCreate", 12050).address == library_symbol("cuCtxCreate_v4"));
    CHECK(look_up("cuCtxCreate", 11040).address == library_symbol("cuCtxCreate_v3"));
    CHECK(look_up("cuGetProcAddress", 11030).address == library_symbol("cuGetProcAddress"));
    CHECK(look_up("cuGetProcAddress", 12000).address == library_symbol("cuGetProcAddress_v2"));
}

TEST_CASE("emulator entry points: a flag selects the per-thread default stream") {
    const Machine machine;
    constexpr cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    CHECK(look_up("cuStreamQuery", 12000, per_thread).address ==
          library_symbol("cuStreamQuery_ptsz"));
    CHECK(look_up("cuMemcpyHtoD", 12000, per_thread).address ==
          library_symbol("cuMemcpyHtoD_v2_ptds"));
    CHECK(look_up("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM).address ==
          library_symbol("cuStreamQuery"));
    CHECK(look_up("cuMemAlloc", 12000, per_thread).address == library_symbol("cuMemAlloc_v2"));
    CHECK(look_up("cuMemAlloc", 12000, 8).result == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator entry points: unknown and too new ones aren't found") {
    const Machine machine;
    const Lookup unknown = look_up("cuMakeCoffee", 12000);
    CHECK(unknown.result == CUDA_ERROR_NOT_FOUND);
    CHECK(unknown.address == nullptr);
    CHECK(unknown.status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

    const Lookup too_old = look_up("cuLibraryLoadData", 11080);
    CHECK(too_old.result == CUDA_ERROR_NOT_FOUND);
    CHECK(too_old.address == nullptr);
    CHECK(too_old.status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

    CHECK(look_up("cuInit", 13060).result == CUDA_ERROR_INVALID_VALUE);
    CHECK(look_up(nullptr, 12000).result == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator entry points: those of CUDA 13.1 to 13.5 are found under their versions") {
    const Machine machine;
    CHECK(look_up("cuLaunchHostFunc", 13000).address == library_symbol("cuLaunchHostFunc"));
    CHECK(look_up("cuLaunchHostFunc", 13010).address == library_symbol("cuLaunchHostFunc_v2"));
    CHECK(look_up("cuGraphAddNode", 13050).address == library_symbol("cuGraphAddNode_v3"));
    const auto endpoint = look_up("cuLogicalEndpointCreate", 13030);
    REQUIRE(endpoint.result == CUDA_SUCCESS);
    CHECK(reinterpret_cast<CUresult (*)()>(endpoint.address)() == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(machine.log().find("cuLogicalEndpointCreate") != std::string::npos);
}

TEST_CASE("emulator entry points: an older driver has fewer of them") {
    const Machine machine;
    control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version")(12000);
    int version = 0;
    CHECK(CU(cuDriverGetVersion, 2020)(&version) == CUDA_SUCCESS);
    CHECK(version == 12000);
    CHECK(look_up("cuLibraryLoadData", 12000).result == CUDA_SUCCESS);
    CHECK(look_up("cuLibraryGetKernelCount", 12040).result == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator entry points: each unsupported one is logged once") {
    const Machine machine;
    const auto call = [] {
        return CU(cuGraphAddBatchMemOpNode, 11070)(nullptr, nullptr, nullptr, 0, nullptr);
    };
    CHECK(call() == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(call() == CUDA_ERROR_NOT_SUPPORTED);
    const std::string log = machine.log();
    const auto first = log.find("cuGraphAddBatchMemOpNode");
    REQUIRE(first != std::string::npos);
    CHECK(log.find("cuGraphAddBatchMemOpNode", first + 1) == std::string::npos);
}

TEST_CASE("emulator results: codes have a name and a description") {
    const Machine machine("sm_90", false);
    const char* text = nullptr;
    CHECK(CU(cuGetErrorName, 6000)(CUDA_ERROR_ILLEGAL_ADDRESS, &text) == CUDA_SUCCESS);
    CHECK(std::string_view(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK(CU(cuGetErrorString, 6000)(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
    CHECK(std::string_view(text) == "there isn't enough memory");
    CHECK(CU(cuGetErrorName, 6000)(static_cast<CUresult>(998), &text) == CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
}
