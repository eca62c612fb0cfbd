#include "tests/unit/emulator/driver/emulator_library.hpp"

using namespace lode::emulator_test;

namespace {

void fail_call(unsigned long n, CUresult result) {
    control<decltype(lode_emulator_fail_call)>("lode_emulator_fail_call")(n, result);
}

const char* failed_call() {
    return control<decltype(lode_emulator_failed_call)>("lode_emulator_failed_call")();
}

unsigned long call_count() {
    return control<decltype(lode_emulator_call_count)>("lode_emulator_call_count")();
}

/// Uses and releases resources as a correct program does; stops at the first failure.
CUresult scenario() {
    CUcontext context = nullptr;
    if (const auto r = CU(cuDevicePrimaryCtxRetain, 7000)(&context, 0); r != 0) return r;
    CUresult result = CU(cuCtxPushCurrent, 4000)(context);
    if (result == CUDA_SUCCESS) {
        CUstream stream = nullptr;
        result = CU(cuStreamCreate, 2000)(&stream, 0);
        if (result == CUDA_SUCCESS) {
            CUdeviceptr memory = 0;
            result = CU(cuMemAlloc, 3020)(&memory, 64);
            if (result == CUDA_SUCCESS) {
                CUlibrary library = nullptr;
                result = CU(cuLibraryLoadData, 12000)(&library, store_ptx, nullptr, nullptr, 0,
                                                      nullptr, nullptr, 0);
                if (result == CUDA_SUCCESS) {
                    const CUresult unloaded = CU(cuLibraryUnload, 12000)(library);
                    if (result == CUDA_SUCCESS) result = unloaded;
                }
                const CUresult freed = CU(cuMemFree, 3020)(memory);
                if (result == CUDA_SUCCESS) result = freed;
            }
            const CUresult destroyed = CU(cuStreamDestroy, 4000)(stream);
            if (result == CUDA_SUCCESS) result = destroyed;
        }
        CUcontext popped = nullptr;
        const CUresult left = CU(cuCtxPopCurrent, 4000)(&popped);
        if (result == CUDA_SUCCESS) result = left;
    }
    const CUresult released = CU(cuDevicePrimaryCtxRelease, 11000)(0);
    return result == CUDA_SUCCESS ? released : result;
}

}  // namespace

TEST_CASE("emulator faults: the n-th call fails once, and is named") {
    const Machine machine;
    const unsigned long before = call_count();
    fail_call(2, CUDA_ERROR_OUT_OF_MEMORY);
    int value = 0;
    CHECK(CU(cuDeviceGetCount, 2000)(&value) == CUDA_SUCCESS);
    CHECK(failed_call() == nullptr);
    CUdevice device = 0;
    CHECK(CU(cuDeviceGet, 2000)(&device, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(std::string_view(failed_call()) == "cuDeviceGet");
    CHECK(CU(cuDeviceGet, 2000)(&device, 0) == CUDA_SUCCESS);
    CHECK(call_count() == before + 3);
    fail_call(1, CUDA_ERROR_UNKNOWN);
    fail_call(0, CUDA_SUCCESS);
    CHECK(CU(cuDeviceGetCount, 2000)(&value) == CUDA_SUCCESS);
}

TEST_CASE("emulator faults: a hook sees every call by name and may fail it") {
    const Machine machine;
    struct Seen {
        std::string calls;
        int devices = 0;
    } seen;
    const auto set_calls = control<decltype(lode_emulator_set_calls)>("lode_emulator_set_calls");
    const auto hook = [](void* user, const char* entry) -> int {
        auto& now = *static_cast<Seen*>(user);
        now.calls.append(entry).append(" ");
        if (std::string_view(entry) != "cuDeviceGet") return 0;
        return ++now.devices == 2 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    };
    set_calls(hook, &seen);
    CUdevice device = 0;
    CHECK(CU(cuDeviceGet, 2000)(&device, 0) == CUDA_SUCCESS);
    std::size_t bytes = 0;
    CHECK(CU(cuDeviceTotalMem, 3020)(&bytes, 0) == CUDA_SUCCESS);
    CHECK(CU(cuDeviceGet, 2000)(&device, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(std::string_view(failed_call()) == "cuDeviceGet");
    CHECK(CU(cuDeviceGet, 2000)(&device, 0) == CUDA_SUCCESS);
    set_calls(nullptr, nullptr);
    CHECK(CU(cuDeviceGet, 2000)(&device, 0) == CUDA_SUCCESS);
    CHECK(seen.calls == "cuDeviceGet cuDeviceTotalMem cuDeviceGet cuDeviceGet ");
}

TEST_CASE("emulator faults: unsupported calls and cuInit can be made to fail too") {
    const Machine machine("sm_90", false);
    fail_call(1, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    CHECK(CU(cuInit, 2000)(0) == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    CHECK(CU(cuInit, 2000)(0) == CUDA_SUCCESS);
    fail_call(1, CUDA_ERROR_UNKNOWN);
    CHECK(CU(cuGraphAddBatchMemOpNode, 11070)(nullptr, nullptr, nullptr, 0, nullptr) ==
          CUDA_ERROR_UNKNOWN);
    CHECK(std::string_view(failed_call()) == "cuGraphAddBatchMemOpNode");
}

TEST_CASE("emulator faults: failing each call of a careful program in turn leaves nothing alive") {
    const Machine machine;
    unsigned long n = 1;
    for (; n < 1000; ++n) {
        CAPTURE(n);
        fail_call(n, CUDA_ERROR_UNKNOWN);
        const CUresult result = scenario();
        if (failed_call() == nullptr) {
            CHECK(result == CUDA_SUCCESS);
            break;
        }
        CHECK(result == CUDA_ERROR_UNKNOWN);
        for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind) {
            CAPTURE(control<decltype(lode_emulator_kind_name)>("lode_emulator_kind_name")(kind));
            CHECK(machine.live(static_cast<lode_emulator_kind>(kind)) == 0);
        }
    }
    CHECK(n == 11);
    fail_call(0, CUDA_SUCCESS);
}

TEST_CASE("emulator faults: a reset destroys everything") {
    const Machine machine;
    CUcontext context = nullptr;
    REQUIRE(CU(cuCtxCreate, 3020)(&context, 0, 0) == CUDA_SUCCESS);
    CUdeviceptr address = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_SUCCESS);
    const auto reset = control<decltype(lode_emulator_reset)>("lode_emulator_reset");
    CHECK(reset("sm_12") == -1);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    CHECK(reset("sm_80,sm_86") == 0);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(machine.live(LODE_EMULATOR_CONTEXTS) == 0);
    REQUIRE(CU(cuInit, 2000)(0) == CUDA_SUCCESS);
    CUcontext current = context;
    CHECK(CU(cuCtxGetCurrent, 4000)(&current) == CUDA_SUCCESS);
    CHECK(current == nullptr);
    CHECK(CU(cuCtxSetCurrent, 4000)(context) == CUDA_ERROR_INVALID_CONTEXT);
    int count = 0;
    CHECK(CU(cuDeviceGetCount, 2000)(&count) == CUDA_SUCCESS);
    CHECK(count == 2);
}

TEST_CASE("emulator log: the driver's log entry points return the lines") {
    const Machine machine;
    CUlogIterator from = 0;
    CHECK(CU(cuLogsCurrent, 12090)(&from, 0) == CUDA_SUCCESS);
    std::string heard;
    const auto hear = [](void* data, CUlogLevel, char* message, std::size_t length) {
        static_cast<std::string*>(data)->append(message, length);
    };
    CUlogsCallbackHandle handle = nullptr;
    CHECK(CU(cuLogsRegisterCallback, 12090)(hear, &heard, &handle) == CUDA_SUCCESS);
    const Current scope;
    CHECK(CU(cuMemFree, 3020)(0x1234) == CUDA_ERROR_INVALID_VALUE);
    CHECK(heard.find("The address 0x1234 can't be freed") != std::string::npos);
    CHECK(heard.find("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree") != std::string::npos);
    CHECK(CU(cuLogsUnregisterCallback, 12090)(handle) == CUDA_SUCCESS);
    CHECK(CU(cuLogsUnregisterCallback, 12090)(handle) == CUDA_ERROR_INVALID_VALUE);
    char text[512] = {};
    std::size_t size = sizeof(text);
    CHECK(CU(cuLogsDumpToMemory, 12090)(&from, text, &size, 0) == CUDA_SUCCESS);
    CHECK(std::string_view(text, size).find("The address 0x1234 can't be freed") !=
          std::string_view::npos);
    size = sizeof(text);
    CHECK(CU(cuLogsDumpToMemory, 12090)(&from, text, &size, 0) == CUDA_SUCCESS);
    CHECK(size == 0);
}
