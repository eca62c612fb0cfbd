#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <thread>

using namespace lode::emulator_test;

namespace {

CUcontext current() {
    CUcontext context = nullptr;
    CHECK(CU(cuCtxGetCurrent, 4000)(&context) == CUDA_SUCCESS);
    return context;
}

/// The unversioned symbol, which cuGetProcAddress gives to programs of that version.
template <class Function>
Function first(const char* name, int version) {
    void* const symbol = library_symbol(name);
    CHECK(entry_point(name, version) == symbol);
    return reinterpret_cast<Function>(symbol);
}

int is_active(CUdevice device) {
    unsigned flags = 0;
    int active = -1;
    CHECK(CU(cuDevicePrimaryCtxGetState, 7000)(device, &flags, &active) == CUDA_SUCCESS);
    return active;
}

}  // namespace

TEST_CASE("emulator context: a primary context lives from the first retain to the last release") {
    const Machine machine;
    CHECK(is_active(0) == 0);
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    CHECK(CU(cuDevicePrimaryCtxRetain, 7000)(&first, 0) == CUDA_SUCCESS);
    CHECK(CU(cuDevicePrimaryCtxRetain, 7000)(&second, 0) == CUDA_SUCCESS);
    CHECK(first == second);
    CHECK(is_active(0) == 1);
    CHECK(machine.live(LODE_EMULATOR_PRIMARY_REFERENCES) == 2);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(0) == CUDA_SUCCESS);
    CHECK(is_active(0) == 1);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(0) == CUDA_SUCCESS);
    CHECK(is_active(0) == 0);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(0) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(current() == nullptr);
}

TEST_CASE("emulator context: retaining a primary context doesn't make it current") {
    const Machine machine;
    CUcontext context = nullptr;
    CHECK(CU(cuDevicePrimaryCtxRetain, 7000)(&context, 0) == CUDA_SUCCESS);
    CHECK(current() == nullptr);
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("emulator context: contexts can be pushed, popped and set") {
    const Machine machine("sm_80,sm_90");
    CUcontext one = nullptr;
    CUcontext two = nullptr;
    REQUIRE(CU(cuDevicePrimaryCtxRetain, 7000)(&one, 0) == CUDA_SUCCESS);
    REQUIRE(CU(cuDevicePrimaryCtxRetain, 7000)(&two, 1) == CUDA_SUCCESS);
    CHECK(CU(cuCtxPushCurrent, 4000)(one) == CUDA_SUCCESS);
    CHECK(CU(cuCtxPushCurrent, 4000)(two) == CUDA_SUCCESS);
    CHECK(current() == two);
    CUdevice device = -1;
    CHECK(CU(cuCtxGetDevice, 2000)(&device) == CUDA_SUCCESS);
    CHECK(device == 1);
    CUcontext popped = nullptr;
    CHECK(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_SUCCESS);
    CHECK(popped == two);
    CHECK(current() == one);
    CHECK(CU(cuCtxSetCurrent, 4000)(two) == CUDA_SUCCESS);
    CHECK(CU(cuCtxSetCurrent, 4000)(nullptr) == CUDA_SUCCESS);
    CHECK(current() == nullptr);
    CHECK(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(CU(cuCtxPushCurrent, 4000)(nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuCtxPushCurrent, 4000)(reinterpret_cast<CUcontext>(&device)) ==
          CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("emulator context: every thread has its own stack") {
    const Machine machine;
    const Current scope;
    CUcontext seen = scope.native();
    std::thread([&] { seen = current(); }).join();
    CHECK(seen == nullptr);
    CHECK(current() == scope.native());
}

TEST_CASE("emulator context: a created context is current, and using it once destroyed fails") {
    const Machine machine;
    CUcontext context = nullptr;
    CHECK(CU(cuCtxCreate, 3020)(&context, CU_CTX_SCHED_SPIN, 0) == CUDA_SUCCESS);
    CHECK(current() == context);
    CHECK(machine.live(LODE_EMULATOR_CONTEXTS) == 1);
    unsigned flags = 0;
    CHECK(CU(cuCtxGetFlags, 7000)(&flags) == CUDA_SUCCESS);
    CHECK(flags == CU_CTX_SCHED_SPIN);
    CHECK(CU(cuCtxPushCurrent, 4000)(context) == CUDA_SUCCESS);
    CHECK(CU(cuCtxDestroy, 4000)(context) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_CONTEXTS) == 0);
    CHECK(current() == context);
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(CU(cuCtxDestroy, 4000)(context) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("emulator context: a primary context can't be destroyed") {
    const Machine machine;
    const Current scope;
    CHECK(CU(cuCtxDestroy, 4000)(scope.native()) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(is_active(0) == 1);
}

TEST_CASE("emulator context: limits have the driver's defaults and bounds") {
    const Machine machine;
    const Current scope;
    std::size_t value = 0;
    CHECK(CU(cuCtxGetLimit, 3010)(&value, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
    CHECK(value == 1024);
    CHECK(CU(cuCtxGetLimit, 3010)(&value, CU_LIMIT_MALLOC_HEAP_SIZE) == CUDA_SUCCESS);
    CHECK(value == std::size_t{8} << 20);
    CHECK(CU(cuCtxSetLimit, 3010)(CU_LIMIT_STACK_SIZE, 4096) == CUDA_SUCCESS);
    CHECK(CU(cuCtxGetLimit, 3010)(&value, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
    CHECK(value == 4096);
    CHECK(CU(cuCtxSetLimit, 3010)(CU_LIMIT_STACK_SIZE, std::size_t{1} << 30) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuCtxSetLimit, 3010)(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2) ==
          CUDA_ERROR_UNSUPPORTED_LIMIT);
    constexpr auto cig_enabled = static_cast<CUlimit>(8);  // Older headers don't name it.
    CHECK(CU(cuCtxGetLimit, 3010)(&value, cig_enabled) == CUDA_SUCCESS);
    CHECK(value == 0);
    CHECK(CU(cuCtxSetLimit, 3010)(cig_enabled, 1) == CUDA_ERROR_UNSUPPORTED_LIMIT);
    reset_and_reopen();
    CHECK(CU(cuCtxGetLimit, 3010)(&value, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS);
    CHECK(value == 1024);
}

TEST_CASE("emulator context: a reset ends the primary context until it is retained again") {
    const Machine machine;
    const Current scope;
    CUdeviceptr address = 0;
    CUstream stream = nullptr;
    unsigned long long before = 0;
    unsigned long long after = 0;
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_SUCCESS);
    CHECK(CU(cuStreamCreate, 2000)(&stream, 0) == CUDA_SUCCESS);
    CHECK(CU(cuCtxGetId, 12000)(scope.native(), &before) == CUDA_SUCCESS);
    CHECK(CU(cuDevicePrimaryCtxReset, 11000)(0) == CUDA_SUCCESS);
    CHECK(is_active(0) == 0);
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(CU(cuStreamSynchronize, 2000)(stream) != CUDA_SUCCESS);
    CHECK(CU(cuCtxGetId, 12000)(scope.native(), &after) != CUDA_SUCCESS);
    CHECK(CU(cuDevicePrimaryCtxReset, 11000)(0) == CUDA_SUCCESS);

    CUcontext context = nullptr;
    CHECK(CU(cuDevicePrimaryCtxRetain, 7000)(&context, 0) == CUDA_SUCCESS);
    CHECK(context == scope.native());
    CHECK(is_active(0) == 1);
    CHECK(CU(cuCtxGetId, 12000)(context, &after) == CUDA_SUCCESS);
    CHECK(after != before);
    CHECK(CU(cuStreamSynchronize, 2000)(stream) != CUDA_SUCCESS);
    CHECK(CU(cuMemAlloc, 3020)(&address, 16) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(address) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_PRIMARY_REFERENCES) == 2);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(0) == CUDA_SUCCESS);
}

TEST_CASE("emulator context: objects that are alive when it ends are leaks") {
    const Machine machine;
    {
        const Current scope;
        CUstream stream = nullptr;
        CUevent event = nullptr;
        CUdeviceptr address = 0;
        CHECK(CU(cuStreamCreate, 2000)(&stream, 0) == CUDA_SUCCESS);
        CHECK(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
        CHECK(CU(cuMemAlloc, 3020)(&address, 400) == CUDA_SUCCESS);
        CHECK(machine.live(LODE_EMULATOR_LEAKS) == 0);
    }
    CHECK(machine.live(LODE_EMULATOR_STREAMS) == 0);
    CHECK(machine.live(LODE_EMULATOR_EVENTS) == 0);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(machine.live(LODE_EMULATOR_LEAKS) == 3);
    CHECK(machine.log().find("A context of device 0 ends while allocation 1, a 400-byte device "
                             "allocation at 0x") != std::string::npos);
    CHECK(machine.log().find("(cuMemAlloc, driver call ") != std::string::npos);
    CHECK(machine.log().find("ends while stream ") != std::string::npos);
    CHECK(machine.log().find("ends while an event is still alive.") != std::string::npos);
}

TEST_CASE("emulator context: enabling and disabling peer access returns the driver's errors") {
    const Machine machine("sm_90,sm_90");
    CUcontext peer = nullptr;
    REQUIRE(CU(cuDevicePrimaryCtxRetain, 7000)(&peer, 1) == CUDA_SUCCESS);
    const Current scope;
    CHECK(CU(cuCtxEnablePeerAccess, 4000)(peer, 0) == CUDA_SUCCESS);
    CHECK(CU(cuCtxEnablePeerAccess, 4000)(peer, 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    CHECK(CU(cuCtxDisablePeerAccess, 4000)(peer) == CUDA_SUCCESS);
    CHECK(CU(cuCtxDisablePeerAccess, 4000)(peer) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    CHECK(CU(cuCtxEnablePeerAccess, 4000)(scope.native(), 0) == CUDA_ERROR_INVALID_DEVICE);
}

TEST_CASE("emulator context: a context lives until its last detachment") {
    const Machine machine;
    CUcontext context = nullptr;
    REQUIRE(CU(cuCtxCreate, 11040)(&context, nullptr, 0, 0, 0) == CUDA_SUCCESS);
    CUcontext attached = nullptr;
    CHECK(CU(cuCtxAttach, 2000)(&attached, 1) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CU(cuCtxAttach, 2000)(&attached, 0) == CUDA_SUCCESS);
    CHECK(attached == context);
    CHECK(CU(cuCtxDetach, 2000)(context) == CUDA_SUCCESS);
    CHECK(current() == context);
    CHECK(CU(cuCtxDetach, 2000)(context) == CUDA_SUCCESS);
    CHECK(current() == nullptr);
    CHECK(CU(cuCtxDetach, 2000)(context) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(machine.live(LODE_EMULATOR_CONTEXTS) == 0);
}

TEST_CASE("emulator context: no detachment ends a primary context") {
    const Machine machine;
    const Current current;
    CHECK(CU(cuCtxDetach, 2000)(current.native()) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(is_active(0) == 1);
}

TEST_CASE("emulator context: the first forms of entry points do what the newest ones do") {
    const Machine machine;
    CUcontext context = nullptr;
    REQUIRE(first<PFN_cuCtxCreate_v3020>("cuCtxCreate", 2000)(&context, 0, 0) == CUDA_SUCCESS);
    CUcontext popped = nullptr;
    CHECK(first<PFN_cuCtxPopCurrent_v4000>("cuCtxPopCurrent", 2000)(&popped) == CUDA_SUCCESS);
    CHECK(popped == context);
    CHECK(first<PFN_cuCtxPushCurrent_v4000>("cuCtxPushCurrent", 2000)(context) == CUDA_SUCCESS);
    unsigned bytes = 0;
    CHECK(first<CUresult (*)(unsigned*, CUdevice)>("cuDeviceTotalMem", 2000)(&bytes, 0) ==
          CUDA_SUCCESS);
    CHECK(bytes == 0xffffffff);
    CUevent event = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
    CHECK(first<PFN_cuEventDestroy_v4000>("cuEventDestroy", 2000)(event) == CUDA_SUCCESS);
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, 0) == CUDA_SUCCESS);
    CHECK(first<PFN_cuStreamDestroy_v4000>("cuStreamDestroy", 2000)(stream) == CUDA_SUCCESS);
    void* host = nullptr;
    REQUIRE(first<CUresult (*)(void**, unsigned)>("cuMemAllocHost", 2000)(&host, 16) ==
            CUDA_SUCCESS);
    CHECK(CU(cuMemFreeHost, 2000)(host) == CUDA_SUCCESS);
    std::string ptx =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    CUlinkState link = nullptr;
    REQUIRE(first<PFN_cuLinkCreate_v6050>("cuLinkCreate", 5050)(0, nullptr, nullptr, &link) ==
            CUDA_SUCCESS);
    CHECK(first<PFN_cuLinkAddData_v6050>("cuLinkAddData", 5050)(link, CU_JIT_INPUT_PTX, ptx.data(),
                                                                ptx.size() + 1, "k", 0, nullptr,
                                                                nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuLinkDestroy, 5050)(link) == CUDA_SUCCESS);
    CHECK(first<PFN_cuCtxDestroy_v4000>("cuCtxDestroy", 2000)(context) == CUDA_SUCCESS);
    CHECK(current() == nullptr);
}
