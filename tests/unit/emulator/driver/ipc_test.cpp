// Codes of the calls that share memory, events and pools with other processes.
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdint>
#include <cstring>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace lode::emulator_test;

namespace {

CUevent create_shared_event() {
    CUevent event = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) ==
            CUDA_SUCCESS);
    return event;
}

CUmemoryPool create_pool(CUmemAllocationHandleType type) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.handleTypes = type;
    CUmemoryPool pool = nullptr;
    REQUIRE(CU(cuMemPoolCreate, 11020)(&pool, &properties) == CUDA_SUCCESS);
    return pool;
}

}  // namespace

TEST_CASE("emulator ipc: memory handles return the driver's codes") {
    const Machine machine;
    const Current scope;
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, 1000) == CUDA_SUCCESS);
    CUipcMemHandle handle{};
    const auto get = CU(cuIpcGetMemHandle, 4010);
    CHECK(get(nullptr, memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(get(&handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(get(&handle, memory + 1000) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(get(&handle, memory) == CUDA_SUCCESS);
    CUipcMemHandle again{};
    REQUIRE(get(&again, memory + 10) == CUDA_SUCCESS);
    CHECK(std::memcmp(&handle, &again, sizeof handle) == 0);
    unsigned capable = 0;
    CHECK(CU(cuPointerGetAttribute, 4000)(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                          memory) == CUDA_SUCCESS);
    CHECK(capable == 1);

    CUdeviceptr opened = 0;
    const auto open = CU(cuIpcOpenMemHandle, 11000);
    constexpr unsigned lazily = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    CHECK(open(nullptr, handle, lazily) == CUDA_ERROR_INVALID_VALUE);
    CHECK(open(&opened, handle, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(open(&opened, handle, lazily) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(open(&opened, CUipcMemHandle{}, lazily) == CUDA_ERROR_INVALID_VALUE);
    std::memset(&again, 0xff, sizeof again);
    CHECK(open(&opened, again, lazily) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuIpcCloseMemHandle, 4010)(memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuIpcCloseMemHandle, 4010)(0) == CUDA_ERROR_INVALID_VALUE);

    void* pinned = nullptr;
    REQUIRE(CU(cuMemHostAlloc, 2020)(&pinned, 100, 0) == CUDA_SUCCESS);
    CHECK(get(&handle, reinterpret_cast<CUdeviceptr>(pinned)) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFreeHost, 2000)(pinned) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(get(&handle, memory) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator ipc: event handles return the driver's codes") {
    const Machine machine;
    const Current scope;
    CUevent event = nullptr;
    CHECK(CU(cuEventCreate, 2000)(&event, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);
    event = create_shared_event();
    CHECK(CU(cuEventQuery, 2000)(event) == CUDA_SUCCESS);
    CHECK(CU(cuEventSynchronize, 2000)(event) == CUDA_SUCCESS);
    CHECK(CU(cuEventRecord, 2000)(event, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuStreamWaitEvent, 3020)(nullptr, event, 0) == CUDA_SUCCESS);
    CHECK(CU(cuEventSynchronize, 2000)(event) == CUDA_SUCCESS);
    CHECK(CU(cuEventQuery, 2000)(event) == CUDA_SUCCESS);
    float milliseconds = 0;
    CHECK(CU(cuEventElapsedTime, 2000)(&milliseconds, event, event) == CUDA_ERROR_INVALID_HANDLE);

    CUipcEventHandle handle{};
    const auto get = CU(cuIpcGetEventHandle, 4010);
    const auto open = CU(cuIpcOpenEventHandle, 4010);
    CHECK(get(nullptr, event) == CUDA_ERROR_INVALID_VALUE);
    CHECK(get(&handle, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(get(&handle, event) == CUDA_SUCCESS);
    CUevent opened = nullptr;
    CHECK(open(nullptr, handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(open(&opened, handle) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(open(&opened, CUipcEventHandle{}) == CUDA_ERROR_INVALID_HANDLE);
    CUevent plain = nullptr;
    REQUIRE(CU(cuEventCreate, 2000)(&plain, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    CHECK(get(&handle, plain) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuEventDestroy, 4000)(plain) == CUDA_SUCCESS);
    CHECK(CU(cuEventDestroy, 4000)(event) == CUDA_SUCCESS);
    CHECK(get(&handle, event) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("emulator ipc: pools return the driver's codes") {
    const Machine machine;
    const Current scope;
    const auto pool = create_pool(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    const auto alone = create_pool(CU_MEM_HANDLE_TYPE_NONE);
    const auto export_to = CU(cuMemPoolExportToShareableHandle, 11020);
    const auto import = CU(cuMemPoolImportFromShareableHandle, 11020);
    constexpr auto by_file = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    int descriptor = -1;
    CHECK(export_to(nullptr, pool, by_file, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(export_to(&descriptor, nullptr, by_file, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(export_to(&descriptor, alone, by_file, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(export_to(&descriptor, pool, CU_MEM_HANDLE_TYPE_NONE, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(export_to(&descriptor, pool, by_file, 1) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(export_to(&descriptor, pool, by_file, 0) == CUDA_SUCCESS);
    CUmemoryPool imported = nullptr;
    void* const given = reinterpret_cast<void*>(std::intptr_t{descriptor});
    CHECK(import(nullptr, given, by_file, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(import(&imported, reinterpret_cast<void*>(std::intptr_t{-1}), by_file, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    REQUIRE(import(&imported, given, by_file, 0) == CUDA_SUCCESS);
    CHECK(::close(descriptor) == 0);
    CHECK(CU(cuDeviceSetMemPool, 11020)(0, imported) == CUDA_ERROR_INVALID_VALUE);

    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAllocFromPoolAsync, 11020)(&memory, 5000, pool, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemAllocFromPoolAsync, 11020)(&memory, 10, imported, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    CUmemPoolPtrExportData data{};
    CHECK(CU(cuMemPoolExportPointer, 11020)(nullptr, memory) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemPoolExportPointer, 11020)(&data, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(CU(cuMemPoolExportPointer, 11020)(&data, memory) == CUDA_SUCCESS);
    CUdeviceptr theirs = 0;
    const auto import_pointer = CU(cuMemPoolImportPointer, 11020);
    CHECK(import_pointer(nullptr, imported, &data) == CUDA_ERROR_INVALID_VALUE);
    CHECK(import_pointer(&theirs, pool, &data) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(import_pointer(&theirs, imported, &data) == CUDA_SUCCESS);
    CHECK(theirs != memory);
    CHECK(machine.live(LODE_EMULATOR_IMPORTS) == 1);

    // Both addresses are of the same memory.
    CHECK(CU(cuMemsetD8, 3020)(memory, 7, 5000) == CUDA_SUCCESS);
    unsigned char last = 0;
    CHECK(CU(cuMemcpyDtoH, 3020)(&last, theirs + 4999, 1) == CUDA_SUCCESS);
    CHECK(last == 7);
    CHECK(CU(cuMemcpyDtoH, 3020)(&last, theirs + 5000, 1) == CUDA_ERROR_INVALID_VALUE);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(CU(cuMemGetAddressRange, 3020)(&base, &size, theirs + 4) == CUDA_SUCCESS);
    CHECK(base == theirs);
    CHECK(size == 5000);
    CHECK(CU(cuIpcCloseMemHandle, 4010)(theirs) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFreeAsync, 11020)(theirs, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemFreeAsync, 11020)(theirs, nullptr) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(import_pointer(&theirs, imported, &data) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(theirs) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(theirs) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(import_pointer(&theirs, imported, &data) == CUDA_ERROR_INVALID_VALUE);
    for (const auto each : {imported, pool, alone})
        CHECK(CU(cuMemPoolDestroy, 11020)(each) == CUDA_SUCCESS);
}

TEST_CASE("emulator external: wrong arguments return the driver's codes") {
    const Machine machine;
    const Current scope;
    const int file = ::memfd_create("foreign", MFD_CLOEXEC);
    REQUIRE(::ftruncate(file, 100) == 0);
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc{};
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.handle.fd = file;
    desc.size = 100;
    CUexternalMemory memory = nullptr;
    const auto import = CU(cuImportExternalMemory, 10000);
    CHECK(import(nullptr, &desc) == CUDA_ERROR_INVALID_VALUE);
    CHECK(import(&memory, nullptr) == CUDA_ERROR_INVALID_VALUE);
    desc.flags = 2;
    CHECK(import(&memory, &desc) == CUDA_ERROR_INVALID_VALUE);
    desc.flags = 0;
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP;
    CHECK(import(&memory, &desc) == CUDA_ERROR_NOT_SUPPORTED);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    REQUIRE(import(&memory, &desc) == CUDA_SUCCESS);

    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.offset = 50;
    part.size = 51;
    CUdeviceptr address = 0;
    const auto map = CU(cuExternalMemoryGetMappedBuffer, 10000);
    CHECK(map(&address, memory, &part) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map(&address, nullptr, &part) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(map(nullptr, memory, &part) == CUDA_ERROR_INVALID_VALUE);
    part.size = 50;
    REQUIRE(map(&address, memory, &part) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD8, 3020)(address, 1, 50) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD8, 3020)(address, 1, 51) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFree, 3020)(address) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD8, 3020)(address, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuDestroyExternalMemory, 10000)(memory) == CUDA_SUCCESS);
    CHECK(CU(cuDestroyExternalMemory, 10000)(memory) == CUDA_ERROR_INVALID_HANDLE);

    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC wanted{};
    wanted.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE;
    CUexternalSemaphore semaphore = nullptr;
    CHECK(CU(cuImportExternalSemaphore, 10000)(&semaphore, &wanted) == CUDA_ERROR_NOT_SUPPORTED);
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
    CHECK(CU(cuSignalExternalSemaphoresAsync, 10000)(&semaphore, &signal, 1, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuSignalExternalSemaphoresAsync, 10000)(nullptr, &signal, 1, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuDestroyExternalSemaphore, 10000)(semaphore) == CUDA_ERROR_INVALID_HANDLE);
}
