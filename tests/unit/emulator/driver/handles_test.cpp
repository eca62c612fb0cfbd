// Handles are validated, never trusted: every entry point with dead, foreign and random handles.
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <atomic>
#include <climits>
#include <functional>
#include <set>
#include <thread>

using namespace lode::emulator_test;

namespace {

template <class Handle>
Handle as(std::uintptr_t number) {
    return reinterpret_cast<Handle>(number);
}

/// One live object of each kind.
struct Zoo {
    Zoo() {
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "store") == CUDA_SUCCESS);
        library = load();
        REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, "store") == CUDA_SUCCESS);
        pool = make_pool();
        REQUIRE(CU(cuMemAlloc, 3020)(&memory, 64) == CUDA_SUCCESS);
    }
    static CUlibrary load() {
        CUlibrary made = nullptr;
        REQUIRE(CU(cuLibraryLoadData, 12000)(&made, store_ptx, nullptr, nullptr, 0, nullptr,
                                             nullptr, 0) == CUDA_SUCCESS);
        return made;
    }
    static CUmemoryPool make_pool() {
        CUmemPoolProps properties{};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CUmemoryPool made = nullptr;
        REQUIRE(CU(cuMemPoolCreate, 11020)(&made, &properties) == CUDA_SUCCESS);
        return made;
    }
    /// The handles of the other objects, and numbers that are no handles. Excludes `own`.
    [[nodiscard]] std::vector<std::uintptr_t> foreign(const void* own) const {
        std::vector<std::uintptr_t> all{0x3,
                                        0x1000,
                                        0xdeadbeef,
                                        0x7fffffffffff,
                                        0x8000000000000000,
                                        ~std::uintptr_t{0},
                                        reinterpret_cast<std::uintptr_t>(this),
                                        reinterpret_cast<std::uintptr_t>(&store_ptx),
                                        memory};
        for (const void* handle : std::initializer_list<const void*>{
                 stream, event, module, function, library, kernel, pool, scope.native()}) {
            if (handle == own) continue;
            all.push_back(reinterpret_cast<std::uintptr_t>(handle));
            all.push_back(reinterpret_cast<std::uintptr_t>(handle) + 1);
            all.push_back(reinterpret_cast<std::uintptr_t>(handle) + 8);
        }
        return all;
    }

    Machine machine{"sm_90,sm_80"};
    Current scope;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUmemoryPool pool = nullptr;
    CUdeviceptr memory = 0;
};

template <class Handle>
using Calls = std::vector<std::function<CUresult(Handle)>>;

/// Checks that every call refuses every number with the error `want`.
template <class Handle>
void check_all(const Calls<Handle>& calls, const std::vector<std::uintptr_t>& numbers,
               CUresult want) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
        for (const std::uintptr_t number : numbers) {
            CAPTURE(k);
            CAPTURE(number);
            CHECK(calls[k](as<Handle>(number)) == want);
        }
    }
}

std::uintptr_t number_of(const void* handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
}

void nothing(void*) {}

}  // namespace

TEST_CASE("emulator handles: a stream handle that is dead, foreign or invented is refused") {
    const Zoo zoo;
    std::array<char, 16> host{};
    unsigned flags = 0;
    int priority = 0;
    unsigned long long id = 0;
    CUcontext context = nullptr;
    CUdeviceptr out = 0;
    CUstreamCaptureStatus status{};
    CUdeviceptr to = zoo.memory;
    unsigned value = 1;
    void* arguments[] = {&to, &value};
    const Calls<CUstream> calls = {
        [](auto h) { return CU(cuStreamSynchronize, 2000)(h); },
        [](auto h) { return CU(cuStreamQuery, 2000)(h); },
        [](auto h) { return CU(cuStreamDestroy, 4000)(h); },
        [&](auto h) { return CU(cuStreamGetFlags, 5050)(h, &flags); },
        [&](auto h) { return CU(cuStreamGetPriority, 5050)(h, &priority); },
        [&](auto h) { return CU(cuStreamGetCtx, 9020)(h, &context); },
        [&](auto h) { return CU(cuStreamGetId, 12000)(h, &id); },
        [&](auto h) { return CU(cuStreamIsCapturing, 10000)(h, &status); },
        [&](auto h) { return CU(cuStreamWaitEvent, 3020)(h, zoo.event, 0); },
        [](auto h) { return CU(cuLaunchHostFunc, 10000)(h, nothing, nullptr); },
        [&](auto h) { return CU(cuEventRecord, 2000)(zoo.event, h); },
        [&](auto h) { return CU(cuMemcpyAsync, 4000)(zoo.memory, zoo.memory + 8, 8, h); },
        [&](auto h) { return CU(cuMemcpyHtoDAsync, 3020)(zoo.memory, host.data(), 8, h); },
        [&](auto h) { return CU(cuMemcpyDtoHAsync, 3020)(host.data(), zoo.memory, 8, h); },
        [&](auto h) { return CU(cuMemsetD8Async, 3020)(zoo.memory, 1, 8, h); },
        [&](auto h) { return CU(cuMemAllocAsync, 11020)(&out, 8, h); },
        [&](auto h) { return CU(cuMemFreeAsync, 11020)(zoo.memory, h); },
        [&](auto h) {
            return CU(cuLaunchKernel, 4000)(zoo.function, 1, 1, 1, 1, 1, 1, 0, h, arguments,
                                            nullptr);
        },
    };
    CUstream dead = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&dead, 0) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamDestroy, 4000)(dead) == CUDA_SUCCESS);
    auto numbers = zoo.foreign(zoo.stream);
    numbers.push_back(number_of(dead));
    check_all(calls, numbers, CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuStreamSynchronize, 2000)(zoo.stream) == CUDA_SUCCESS);
}

TEST_CASE("emulator handles: an event handle that is dead, foreign or invented is refused") {
    const Zoo zoo;
    float ms = 0;
    const Calls<CUevent> calls = {
        [](auto h) { return CU(cuEventQuery, 2000)(h); },
        [](auto h) { return CU(cuEventSynchronize, 2000)(h); },
        [](auto h) { return CU(cuEventDestroy, 4000)(h); },
        [&](auto h) { return CU(cuEventRecord, 2000)(h, zoo.stream); },
        [&](auto h) { return CU(cuStreamWaitEvent, 3020)(zoo.stream, h, 0); },
        [&](auto h) { return CU(cuEventElapsedTime, 2000)(&ms, h, zoo.event); },
        [&](auto h) { return CU(cuEventElapsedTime, 2000)(&ms, zoo.event, h); },
    };
    CHECK(CU(cuEventRecord, 2000)(zoo.event, zoo.stream) == CUDA_SUCCESS);
    CHECK(CU(cuEventSynchronize, 2000)(zoo.event) == CUDA_SUCCESS);
    CUevent dead = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&dead, 0) == CUDA_SUCCESS);
    REQUIRE(CU(cuEventDestroy, 4000)(dead) == CUDA_SUCCESS);
    auto numbers = zoo.foreign(zoo.event);
    numbers.push_back(number_of(dead));
    numbers.push_back(0);
    check_all(calls, numbers, CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator handles: a code handle that is dead, foreign or invented is refused") {
    const Zoo zoo;
    CUfunction function = nullptr;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    unsigned count = 0;
    const Calls<CUmodule> modules = {
        [&](auto h) { return CU(cuModuleGetFunction, 2000)(&function, h, "store"); },
        [&](auto h) { return CU(cuModuleGetGlobal, 3020)(&address, &bytes, h, "table"); },
        [&](auto h) { return CU(cuModuleGetFunctionCount, 12040)(&count, h); },
        [](auto h) { return CU(cuModuleUnload, 2000)(h); },
    };
    CUmodule dead = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&dead, store_ptx) == CUDA_SUCCESS);
    CUfunction dead_function = nullptr;
    REQUIRE(CU(cuModuleGetFunction, 2000)(&dead_function, dead, "store") == CUDA_SUCCESS);
    REQUIRE(CU(cuModuleUnload, 2000)(dead) == CUDA_SUCCESS);
    auto numbers = zoo.foreign(zoo.module);
    numbers.push_back(number_of(dead));
    numbers.push_back(0);
    check_all(modules, numbers, CUDA_ERROR_INVALID_HANDLE);

    CUkernel kernel = nullptr;
    CUmodule module = nullptr;
    const Calls<CUlibrary> libraries = {
        [&](auto h) { return CU(cuLibraryGetKernel, 12000)(&kernel, h, "store"); },
        [&](auto h) { return CU(cuLibraryGetModule, 12000)(&module, h); },
        [&](auto h) { return CU(cuLibraryGetGlobal, 12000)(&address, &bytes, h, "table"); },
        [&](auto h) { return CU(cuLibraryGetKernelCount, 12040)(&count, h); },
        [&](auto h) { return CU(cuLibraryEnumerateKernels, 12040)(&kernel, 1, h); },
        [](auto h) { return CU(cuLibraryUnload, 12000)(h); },
    };
    const CUlibrary gone = Zoo::load();
    CUkernel dead_kernel = nullptr;
    REQUIRE(CU(cuLibraryGetKernel, 12000)(&dead_kernel, gone, "store") == CUDA_SUCCESS);
    REQUIRE(CU(cuLibraryUnload, 12000)(gone) == CUDA_SUCCESS);
    numbers = zoo.foreign(zoo.library);
    numbers.push_back(number_of(gone));
    numbers.push_back(0);
    check_all(libraries, numbers, CUDA_ERROR_INVALID_HANDLE);

    int value = 0;
    std::size_t size = 0;
    CUlibrary library = nullptr;
    const char* name = nullptr;
    const Calls<CUkernel> kernels = {
        [&](auto h) { return CU(cuKernelGetFunction, 12000)(&function, h); },
        [&](auto h) { return CU(cuKernelGetLibrary, 12050)(&library, h); },
        [&](auto h) { return CU(cuKernelGetName, 12030)(&name, h); },
        [&](auto h) { return CU(cuKernelGetParamInfo, 12040)(h, 0, &bytes, &size); },
        [&](auto h) {
            return CU(cuKernelGetAttribute, 12000)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, h, 0);
        },
        [](auto h) { return CU(cuKernelSetCacheConfig, 12000)(h, CU_FUNC_CACHE_PREFER_L1, 0); },
    };
    numbers = zoo.foreign(zoo.kernel);
    numbers.push_back(number_of(dead_kernel));
    check_all(kernels, numbers, CUDA_ERROR_INVALID_HANDLE);

    const Calls<CUfunction> functions = {
        [&](auto h) { return CU(cuFuncGetAttribute, 2020)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, h); },
        [](auto h) {
            return CU(cuFuncSetAttribute, 9000)(
                h, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
        },
        [&](auto h) { return CU(cuFuncGetModule, 11000)(&module, h); },
        // As the driver does, it calls a null function a wrong value.
        [&](auto h) {
            const CUresult result = CU(cuFuncGetName, 12030)(&name, h);
            if (h != nullptr) return result;
            return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
        },
        [&](auto h) { return CU(cuFuncGetParamInfo, 12040)(h, 0, &bytes, &size); },
        [](auto h) { return CU(cuFuncLoad, 12040)(h); },
        [&](auto h) {
            return CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)(&value, h, 32, 0);
        },
        [](auto h) {
            return CU(cuLaunchKernel, 4000)(h, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
        },
    };
    numbers = zoo.foreign(zoo.function);
    // A CUkernel is accepted as a CUfunction.
    std::erase(numbers, number_of(zoo.kernel));
    numbers.push_back(number_of(dead_function));
    numbers.push_back(number_of(dead_kernel));
    numbers.push_back(0);
    check_all(functions, numbers, CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator handles: a context handle that is dead, foreign or invented is refused") {
    const Zoo zoo;
    unsigned version = 0;
    unsigned long long id = 0;
    const Calls<CUcontext> calls = {
        [](auto h) { return CU(cuCtxPushCurrent, 4000)(h); },
        [](auto h) { return CU(cuCtxSetCurrent, 4000)(h); },
        [](auto h) { return CU(cuCtxDestroy, 4000)(h); },
        [](auto h) { return CU(cuCtxEnablePeerAccess, 4000)(h, 0); },
        [](auto h) { return CU(cuCtxDisablePeerAccess, 4000)(h); },
        [&](auto h) { return CU(cuCtxGetApiVersion, 3020)(h, &version); },
        [&](auto h) { return CU(cuCtxGetId, 12000)(h, &id); },
        [&](auto h) { return CU(cuMemcpyPeer, 4000)(zoo.memory, h, zoo.memory + 8, nullptr, 8); },
    };
    CUcontext dead = nullptr;
    REQUIRE(CU(cuCtxCreate, 3020)(&dead, 0, 1) == CUDA_SUCCESS);
    CUstream its_stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&its_stream, 0) == CUDA_SUCCESS);
    REQUIRE(CU(cuCtxDestroy, 4000)(dead) == CUDA_SUCCESS);
    auto numbers = zoo.foreign(zoo.scope.native());
    numbers.push_back(number_of(dead));
    check_all(calls, numbers, CUDA_ERROR_INVALID_CONTEXT);
    CHECK(CU(cuStreamSynchronize, 2000)(its_stream) == CUDA_ERROR_INVALID_HANDLE);
    // A context that is current on one thread while another destroys it.
    REQUIRE(CU(cuCtxCreate, 3020)(&dead, 0, 1) == CUDA_SUCCESS);
    std::thread([&] { CHECK(CU(cuCtxDestroy, 4000)(dead) == CUDA_SUCCESS); }).join();
    CUdeviceptr memory = 0;
    CHECK(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(CU(cuStreamSynchronize, 2000)(nullptr) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CUcontext popped = nullptr;
    CHECK(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_SUCCESS);
    CHECK(popped == dead);
}

TEST_CASE("emulator handles: a pool handle that is dead, foreign or invented is refused") {
    const Zoo zoo;
    CUdeviceptr memory = 0;
    cuuint64_t threshold = 0;
    const Calls<CUmemoryPool> calls = {
        [](auto h) { return CU(cuMemPoolDestroy, 11020)(h); },
        [](auto h) { return CU(cuMemPoolTrimTo, 11020)(h, 0); },
        [](auto h) { return CU(cuDeviceSetMemPool, 11020)(0, h); },
        [](auto h) {
            CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
            return CU(cuMemSetMemPool, 13000)(&here, CU_MEM_ALLOCATION_TYPE_PINNED, h);
        },
        [&](auto h) {
            return CU(cuMemPoolGetAttribute, 11020)(h, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                    &threshold);
        },
        [&](auto h) {
            return CU(cuMemPoolSetAttribute, 11020)(h, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                    &threshold);
        },
        [&](auto h) { return CU(cuMemAllocFromPoolAsync, 11020)(&memory, 16, h, zoo.stream); },
    };
    const CUmemoryPool dead = Zoo::make_pool();
    REQUIRE(CU(cuDeviceSetMemPool, 11020)(0, dead) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemPoolDestroy, 11020)(dead) == CUDA_SUCCESS);
    auto numbers = zoo.foreign(zoo.pool);
    numbers.push_back(number_of(dead));
    numbers.push_back(0);
    check_all(calls, numbers, CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemAllocAsync, 11020)(&memory, 16, zoo.stream) == CUDA_SUCCESS);
}

TEST_CASE("emulator handles: invented addresses and devices are refused") {
    const Zoo zoo;
    std::array<char, 16> host{};
    CUdeviceptr base = 0;
    std::size_t size = 0;
    int value = 0;
    CUdeviceptr freed = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&freed, 16) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemFree, 3020)(freed) == CUDA_SUCCESS);
    const auto pointer = [](CUdeviceptr at) { return reinterpret_cast<void*>(at); };
    for (const CUdeviceptr at :
         {CUdeviceptr{0x10}, CUdeviceptr{0xdeadbeef}, ~CUdeviceptr{0}, CUdeviceptr{1} << 63, freed,
          zoo.memory + 1, CUdeviceptr(number_of(host.data())),
          CUdeviceptr(number_of(zoo.stream))}) {
        CAPTURE(at);
        CHECK(CU(cuMemFree, 3020)(at) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemFreeHost, 2000)(pointer(at)) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemFreeAsync, 11020)(at, zoo.stream) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemHostUnregister, 4000)(pointer(at)) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        if (at == zoo.memory + 1) continue;
        CHECK(CU(cuMemGetAddressRange, 3020)(&base, &size, at) == CUDA_ERROR_NOT_FOUND);
        CHECK(CU(cuMemcpyDtoH, 3020)(host.data(), at, 8) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpyHtoD, 3020)(at, host.data(), 8) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD8, 3020)(at, 1, 8) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuPointerGetAttribute, 4000)(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) ==
              CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemPrefetchAsync, 8000)(at, 8, 0, zoo.stream) == CUDA_ERROR_INVALID_VALUE);
    }
    for (const CUdevice device : {-1, 2, 1000, INT_MAX, INT_MIN}) {
        CAPTURE(device);
        CUcontext context = nullptr;
        CUmemoryPool pool = nullptr;
        unsigned flags = 0;
        CHECK(CU(cuDeviceGet, 2000)(&value, device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDeviceGetName, 2000)(host.data(), 16, device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDeviceGetAttribute, 2000)(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) ==
              CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDeviceTotalMem, 3020)(&size, device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDevicePrimaryCtxRetain, 7000)(&context, device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDevicePrimaryCtxGetState, 7000)(device, &flags, &value) ==
              CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuCtxCreate, 3020)(&context, 0, device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDeviceGetDefaultMemPool, 11020)(&pool, device) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDeviceSetMemPool, 11020)(device, zoo.pool) == CUDA_ERROR_INVALID_DEVICE);
        CHECK(CU(cuDeviceCanAccessPeer, 4000)(&value, 0, device) == CUDA_ERROR_INVALID_DEVICE);
    }
}

TEST_CASE("emulator handles: a dead handle is never reused for a newer object") {
    const Zoo zoo;
    std::set<const void*> seen;
    CUevent first = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&first, 0) == CUDA_SUCCESS);
    seen.insert(first);
    REQUIRE(CU(cuEventDestroy, 4000)(first) == CUDA_SUCCESS);
    for (int k = 0; k < 2'000; ++k) {
        CUevent event = nullptr;
        CUstream stream = nullptr;
        REQUIRE(CU(cuEventCreate, 2000)(&event, 0) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, 0) == CUDA_SUCCESS);
        REQUIRE(seen.insert(event).second);
        REQUIRE(seen.insert(stream).second);
        REQUIRE(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    }
    CHECK(CU(cuEventQuery, 2000)(first) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator handles: threads use and destroy the same objects at the same time") {
    const Zoo zoo;
    constexpr int rounds = 150;
    std::atomic<CUstream> stream{nullptr};
    std::atomic<CUevent> event{nullptr};
    std::atomic<CUlibrary> library{nullptr};
    std::atomic<CUkernel> kernel{nullptr};
    std::atomic<CUcontext> context{nullptr};
    std::atomic<bool> done{false};
    const auto use = [&] {
        REQUIRE(CU(cuCtxPushCurrent, 4000)(zoo.scope.native()) == CUDA_SUCCESS);
        const CUdeviceptr to = zoo.memory;
        unsigned value = 7;
        while (!done) {
            CUdeviceptr at = to;
            void* arguments[] = {&at, &value};
            int number = 0;
            CUcontext its_context = nullptr;
            CUlibrary its_library = nullptr;
            (void)CU(cuEventRecord, 2000)(event, stream);
            (void)CU(cuStreamWaitEvent, 3020)(stream, event, 0);
            (void)CU(cuStreamGetCtx, 9020)(stream, &its_context);
            (void)CU(cuEventSynchronize, 2000)(event);
            (void)CU(cuKernelGetLibrary, 12050)(&its_library, kernel);
            (void)CU(cuKernelGetAttribute, 12000)(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0);
            (void)CU(cuLaunchKernel, 4000)(reinterpret_cast<CUfunction>(kernel.load()), 1, 1, 1, 32,
                                           1, 1, 0, stream, arguments, nullptr);
            (void)CU(cuStreamSynchronize, 2000)(stream);
            unsigned version = 0;
            (void)CU(cuCtxGetApiVersion, 3020)(context, &version);
            (void)CU(cuCtxEnablePeerAccess, 4000)(context, 0);
        }
        CUcontext popped = nullptr;
        CHECK(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_SUCCESS);
    };
    std::thread one(use);
    std::thread two(use);
    for (int k = 0; k < rounds; ++k) {
        CUstream new_stream = nullptr;
        CUevent new_event = nullptr;
        CUkernel new_kernel = nullptr;
        CUcontext new_context = nullptr;
        CUcontext popped = nullptr;
        const CUlibrary new_library = Zoo::load();
        REQUIRE(CU(cuLibraryGetKernel, 12000)(&new_kernel, new_library, "store") == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamCreate, 2000)(&new_stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CU(cuEventCreate, 2000)(&new_event, 0) == CUDA_SUCCESS);
        REQUIRE(CU(cuCtxCreate, 3020)(&new_context, 0, 1) == CUDA_SUCCESS);
        REQUIRE(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_SUCCESS);
        const CUstream old_stream = stream.exchange(new_stream);
        const CUevent old_event = event.exchange(new_event);
        kernel = new_kernel;
        const CUlibrary old_library = library.exchange(new_library);
        const CUcontext old_context = context.exchange(new_context);
        if (k == 0) continue;
        CHECK(CU(cuEventDestroy, 4000)(old_event) == CUDA_SUCCESS);
        CHECK(CU(cuStreamDestroy, 4000)(old_stream) == CUDA_SUCCESS);
        CHECK(CU(cuLibraryUnload, 12000)(old_library) == CUDA_SUCCESS);
        CHECK(CU(cuCtxDestroy, 4000)(old_context) == CUDA_SUCCESS);
    }
    done = true;
    one.join();
    two.join();
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
}
