#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdint>
#include <vector>

#include <unistd.h>

using namespace lode::emulator_test;

namespace {

constexpr std::size_t chunk_bytes = std::size_t{2} << 20;

CUmemAllocationProp chunk_properties(int device = 0, bool shareable = false) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    if (shareable) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return properties;
}

CUmemGenericAllocationHandle create_chunk(int device = 0, bool shareable = false,
                                          std::size_t bytes = chunk_bytes) {
    const auto properties = chunk_properties(device, shareable);
    CUmemGenericAllocationHandle handle = 0;
    REQUIRE(CU(cuMemCreate, 10020)(&handle, bytes, &properties, 0) == CUDA_SUCCESS);
    return handle;
}

CUdeviceptr reserve_range(std::size_t bytes) {
    CUdeviceptr address = 0;
    REQUIRE(CU(cuMemAddressReserve, 10020)(&address, bytes, 0, 0, 0) == CUDA_SUCCESS);
    return address;
}

CUresult grant_access(CUdeviceptr address, std::size_t bytes, int device = 0,
                      CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = flags;
    return CU(cuMemSetAccess, 10020)(address, bytes, &access, 1);
}

CUresult map_chunk(CUdeviceptr address, CUmemGenericAllocationHandle handle,
                   std::size_t bytes = chunk_bytes) {
    return CU(cuMemMap, 10020)(address, bytes, 0, handle, 0);
}

CUresult unmap_range(CUdeviceptr address, std::size_t bytes = chunk_bytes) {
    return CU(cuMemUnmap, 10020)(address, bytes);
}

CUresult release_chunk(CUmemGenericAllocationHandle handle) {
    return CU(cuMemRelease, 10020)(handle);
}

CUresult free_range(CUdeviceptr address, std::size_t bytes) {
    return CU(cuMemAddressFree, 10020)(address, bytes);
}

CUresult write_words(CUdeviceptr to, std::uint32_t value, std::size_t count = 1) {
    const std::vector<std::uint32_t> values(count, value);
    return CU(cuMemcpyHtoD, 3020)(to, values.data(), count * sizeof(value));
}

std::uint32_t read_word(CUdeviceptr from) {
    std::uint32_t value = 0;
    CHECK(CU(cuMemcpyDtoH, 3020)(&value, from, sizeof value) == CUDA_SUCCESS);
    return value;
}

std::size_t device_bytes_free() {
    std::size_t free = 0;
    std::size_t total = 0;
    REQUIRE(CU(cuMemGetInfo, 3020)(&free, &total) == CUDA_SUCCESS);
    return free;
}

/// Launches store_ptx's kernel, which writes `value` to `to`, and waits.
CUresult store_by_kernel(CUdeviceptr to, std::uint32_t value) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
    REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "store") == CUDA_SUCCESS);
    void* arguments[] = {&to, &value};
    REQUIRE(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) ==
            CUDA_SUCCESS);
    const CUresult result = CU(cuCtxSynchronize, 2000)();
    CU(cuModuleUnload, 2000)(module);
    return result;
}

}  // namespace

TEST_CASE("emulator virtual memory: mapped memory keeps its contents and its account") {
    const Machine machine;
    const Current scope;
    const std::size_t before = device_bytes_free();
    const CUdeviceptr range = reserve_range(2 * chunk_bytes);
    CHECK(range % chunk_bytes == 0);
    CHECK(device_bytes_free() == before);
    const auto handle = create_chunk();
    CHECK(device_bytes_free() == before - chunk_bytes);
    CHECK(machine.live(LODE_EMULATOR_ADDRESS_RANGES) == 1);
    CHECK(machine.live(LODE_EMULATOR_PHYSICAL_MEMORY) == 1);
    REQUIRE(map_chunk(range, handle) == CUDA_SUCCESS);
    REQUIRE(grant_access(range, chunk_bytes) == CUDA_SUCCESS);
    CHECK(store_by_kernel(range + chunk_bytes - 4, 77) == CUDA_SUCCESS);
    CHECK(read_word(range + chunk_bytes - 4) == 77);

    // The same memory at a second address, after the first is gone.
    REQUIRE(map_chunk(range + chunk_bytes, handle) == CUDA_SUCCESS);
    REQUIRE(grant_access(range + chunk_bytes, chunk_bytes) == CUDA_SUCCESS);
    CHECK(write_words(range, 5) == CUDA_SUCCESS);
    CHECK(read_word(range + chunk_bytes) == 5);
    CHECK(unmap_range(range) == CUDA_SUCCESS);
    CHECK(read_word(range + 2 * chunk_bytes - 4) == 77);

    // A mapping keeps the memory without its handle.
    CHECK(release_chunk(handle) == CUDA_SUCCESS);
    CHECK(release_chunk(handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(read_word(range + chunk_bytes) == 5);
    CHECK(device_bytes_free() == before - chunk_bytes);
    CHECK(unmap_range(range + chunk_bytes) == CUDA_SUCCESS);
    CHECK(device_bytes_free() == before);
    CHECK(free_range(range, 2 * chunk_bytes) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_ADDRESS_RANGES) == 0);
    CHECK(machine.live(LODE_EMULATOR_PHYSICAL_MEMORY) == 0);
}

TEST_CASE("emulator virtual memory: neighbours are one range for copies") {
    const Machine machine;
    const Current scope;
    const CUdeviceptr range = reserve_range(2 * chunk_bytes);
    for (const CUdeviceptr at : {range, range + chunk_bytes}) {
        const auto handle = create_chunk();
        REQUIRE(map_chunk(at, handle) == CUDA_SUCCESS);
        CHECK(release_chunk(handle) == CUDA_SUCCESS);
    }
    CHECK(grant_access(range, chunk_bytes / 2) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(grant_access(range, 2 * chunk_bytes) == CUDA_SUCCESS);
    CHECK(write_words(range + chunk_bytes - 16, 9, 8) == CUDA_SUCCESS);
    CHECK(read_word(range + chunk_bytes + 12) == 9);
    CHECK(write_words(range + 2 * chunk_bytes - 16, 9, 8) == CUDA_ERROR_INVALID_VALUE);
    CHECK(unmap_range(range, chunk_bytes / 2) == CUDA_ERROR_INVALID_VALUE);
    CHECK(unmap_range(range, 2 * chunk_bytes) == CUDA_SUCCESS);
    CHECK(free_range(range, 2 * chunk_bytes) == CUDA_SUCCESS);
}

TEST_CASE("emulator virtual memory: reserved addresses without accessible memory are an error") {
    const Machine machine;
    CUdeviceptr range = 0;
    SUBCASE("nothing is mapped") {
        const Current scope;
        range = reserve_range(chunk_bytes);
        CHECK(write_words(range, 1) == CUDA_ERROR_INVALID_VALUE);
        CHECK(machine.take_report().find("is in a reserved range that has no accessible memory") !=
              std::string::npos);
        CHECK(store_by_kernel(range, 1) == CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK(machine.take_report().find("of a reserved range that has no accessible memory") !=
              std::string::npos);
    }
    SUBCASE("the mapping has no access") {
        const Current scope;
        range = reserve_range(chunk_bytes);
        REQUIRE(map_chunk(range, create_chunk()) == CUDA_SUCCESS);
        unsigned long long flags = 7;
        CUmemLocation device{};
        device.type = CU_MEM_LOCATION_TYPE_DEVICE;
        CHECK(CU(cuMemGetAccess, 10020)(&flags, &device, range) == CUDA_SUCCESS);
        CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
        REQUIRE(grant_access(range, chunk_bytes) == CUDA_SUCCESS);
        CHECK(CU(cuMemGetAccess, 10020)(&flags, &device, range) == CUDA_SUCCESS);
        CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        CHECK(write_words(range, 1) == CUDA_SUCCESS);
        REQUIRE(grant_access(range, chunk_bytes, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE) == CUDA_SUCCESS);
        CHECK(store_by_kernel(range, 1) == CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    SUBCASE("the range has been given back") {
        const Current scope;
        range = reserve_range(chunk_bytes);
        CHECK(free_range(range, chunk_bytes) == CUDA_SUCCESS);
        CHECK(write_words(range, 1) == CUDA_ERROR_INVALID_VALUE);
        CHECK(machine.take_report().find("that has been freed") != std::string::npos);
    }
}

TEST_CASE("emulator virtual memory: wrong arguments return the driver's codes") {
    const Machine machine;
    const Current scope;
    CUdeviceptr address = 0;
    const auto reserve_call = CU(cuMemAddressReserve, 10020);
    CHECK(reserve_call(nullptr, chunk_bytes, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(reserve_call(&address, 0, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(reserve_call(&address, chunk_bytes + 1, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(reserve_call(&address, chunk_bytes, 3, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(reserve_call(&address, chunk_bytes, 0, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(reserve_call(&address, std::size_t{1} << 60, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(reserve_call(&address, chunk_bytes, 4 * chunk_bytes, 0, 0) == CUDA_SUCCESS);
    CHECK(address % (4 * chunk_bytes) == 0);
    CHECK(free_range(address, 2 * chunk_bytes) == CUDA_ERROR_INVALID_VALUE);
    CHECK(free_range(address + chunk_bytes, chunk_bytes) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFree, 3020)(address) == CUDA_ERROR_INVALID_VALUE);

    CUmemGenericAllocationHandle handle = 0;
    auto properties = chunk_properties();
    const auto create = CU(cuMemCreate, 10020);
    CHECK(create(nullptr, chunk_bytes, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create(&handle, chunk_bytes, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create(&handle, 4096, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(create(&handle, std::size_t{1} << 40, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    properties.location.id = 3;
    CHECK(create(&handle, chunk_bytes, &properties, 0) == CUDA_ERROR_INVALID_DEVICE);
    properties = chunk_properties();
    properties.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CHECK(create(&handle, chunk_bytes, &properties, 0) == CUDA_ERROR_INVALID_VALUE);

    CHECK(map_chunk(address, 12345) == CUDA_ERROR_INVALID_VALUE);
    handle = create_chunk();
    CHECK(map_chunk(address + 4096, handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map_chunk(address + chunk_bytes, handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(map_chunk(address, handle, 2 * chunk_bytes) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(map_chunk(address, handle) == CUDA_SUCCESS);
    CHECK(map_chunk(address, handle) == CUDA_ERROR_INVALID_VALUE);
    CHECK(grant_access(address, chunk_bytes, 5) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(grant_access(address, chunk_bytes, 0, CU_MEM_ACCESS_FLAGS_PROT_READ) ==
          CUDA_ERROR_NOT_SUPPORTED);
    CHECK(free_range(address, chunk_bytes) == CUDA_ERROR_INVALID_VALUE);
    CHECK(unmap_range(address + 4096) == CUDA_ERROR_INVALID_VALUE);
    CHECK(unmap_range(address) == CUDA_SUCCESS);
    CHECK(unmap_range(address) == CUDA_ERROR_INVALID_VALUE);
    CHECK(release_chunk(handle) == CUDA_SUCCESS);
    CHECK(free_range(address, chunk_bytes) == CUDA_SUCCESS);
    CHECK(free_range(address, chunk_bytes) == CUDA_ERROR_INVALID_VALUE);

    std::size_t unit = 0;
    properties = chunk_properties();
    CHECK(CU(cuMemGetAllocationGranularity, 10020)(
              &unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS);
    CHECK(unit == chunk_bytes);
}

TEST_CASE("emulator virtual memory: a handle comes back from an address, with its properties") {
    const Machine machine("sm_80,sm_90");
    const Current scope;
    const CUdeviceptr range = reserve_range(chunk_bytes);
    const auto handle = create_chunk(1, true);
    REQUIRE(map_chunk(range, handle) == CUDA_SUCCESS);
    REQUIRE(grant_access(range, chunk_bytes) == CUDA_SUCCESS);
    CHECK(release_chunk(handle) == CUDA_SUCCESS);
    CUmemGenericAllocationHandle again = 0;
    const auto retain = CU(cuMemRetainAllocationHandle, 11000);
    REQUIRE(retain(&again, reinterpret_cast<void*>(range + 100)) == CUDA_SUCCESS);
    CUmemAllocationProp properties{};
    REQUIRE(CU(cuMemGetAllocationPropertiesFromHandle, 10020)(&properties, again) == CUDA_SUCCESS);
    CHECK(properties.location.id == 1);
    CHECK(properties.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle third = 0;
    REQUIRE(retain(&third, reinterpret_cast<void*>(range)) == CUDA_SUCCESS);
    CHECK(third == again);
    CHECK(release_chunk(again) == CUDA_SUCCESS);
    CHECK(release_chunk(again) == CUDA_SUCCESS);
    CHECK(release_chunk(again) == CUDA_ERROR_INVALID_VALUE);
    CHECK(retain(&again, reinterpret_cast<void*>(range + chunk_bytes)) == CUDA_ERROR_INVALID_VALUE);

    int ordinal = -1;
    unsigned type = 0;
    CHECK(CU(cuPointerGetAttribute, 4000)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, range) ==
          CUDA_SUCCESS);
    CHECK(ordinal == 1);
    CHECK(CU(cuPointerGetAttribute, 4000)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range) ==
          CUDA_SUCCESS);
    CHECK(type == CU_MEMORYTYPE_DEVICE);
    CHECK(unmap_range(range) == CUDA_SUCCESS);
}

TEST_CASE("emulator virtual memory: a descriptor imports the same memory") {
    const Machine machine;
    const Current scope;
    const CUdeviceptr range = reserve_range(2 * chunk_bytes);
    const auto mine = create_chunk(0, true);
    int descriptor = -1;
    const auto export_to = CU(cuMemExportToShareableHandle, 10020);
    const auto import = CU(cuMemImportFromShareableHandle, 10020);
    REQUIRE(export_to(&descriptor, mine, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
            CUDA_SUCCESS);
    CUmemGenericAllocationHandle theirs = 0;
    REQUIRE(import(&theirs, reinterpret_cast<void*>(std::intptr_t{descriptor}),
                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_SUCCESS);
    CHECK(::close(descriptor) == 0);
    REQUIRE(map_chunk(range, mine) == CUDA_SUCCESS);
    REQUIRE(map_chunk(range + chunk_bytes, theirs) == CUDA_SUCCESS);
    REQUIRE(grant_access(range, 2 * chunk_bytes) == CUDA_SUCCESS);
    CHECK(write_words(range + 40, 1234) == CUDA_SUCCESS);
    CHECK(read_word(range + chunk_bytes + 40) == 1234);
    CHECK(unmap_range(range, 2 * chunk_bytes) == CUDA_SUCCESS);

    CHECK(import(&theirs, reinterpret_cast<void*>(std::intptr_t{0}),
                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == CUDA_ERROR_INVALID_VALUE);
    const auto unshared = create_chunk();
    CHECK(export_to(&descriptor, unshared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
          CUDA_ERROR_INVALID_VALUE);
}
