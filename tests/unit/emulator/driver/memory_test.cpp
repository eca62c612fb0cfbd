#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>
#include <regex>
#include <string>

using namespace lode::emulator_test;

namespace {

std::string hex(CUdeviceptr address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%llx", address);
    return text.data();
}

CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&address, bytes) == CUDA_SUCCESS);
    return address;
}

template <class Value>
std::vector<Value> read(CUdeviceptr from, std::size_t count) {
    std::vector<Value> values(count);
    CHECK(CU(cuMemcpyDtoH, 3020)(values.data(), from, count * sizeof(Value)) == CUDA_SUCCESS);
    return values;
}

CUresult release(CUdeviceptr address) {
    return CU(cuMemFree, 3020)(address);
}

template <class Value>
Value attribute(CUpointer_attribute which, CUdeviceptr address) {
    Value value{};
    CHECK(CU(cuPointerGetAttribute, 4000)(&value, which, address) == CUDA_SUCCESS);
    return value;
}

/// A report without the numbers of the calls that made allocations.
std::string without_call(const std::string& report) {
    static const std::regex number(", driver call [0-9]+");
    return std::regex_replace(report, number, "");
}

}  // namespace

TEST_CASE("emulator memory: an allocation is aligned, counted and freed") {
    const Machine machine;
    const Current scope;
    std::size_t free_before = 0;
    std::size_t free_now = 0;
    std::size_t total = 0;
    CHECK(CU(cuMemGetInfo, 3020)(&free_before, &total) == CUDA_SUCCESS);
    CHECK(free_before == total);
    const CUdeviceptr address = allocate(1000);
    CHECK(address % 256 == 0);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    CHECK(CU(cuMemGetInfo, 3020)(&free_now, &total) == CUDA_SUCCESS);
    CHECK(free_now == free_before - 1000);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CHECK(CU(cuMemGetAddressRange, 3020)(&base, &size, address + 999) == CUDA_SUCCESS);
    CHECK(base == address);
    CHECK(size == 1000);
    CHECK(CU(cuMemGetAddressRange, 3020)(&base, &size, address + 1000) == CUDA_ERROR_NOT_FOUND);
    CHECK(release(address) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(CU(cuMemGetInfo, 3020)(&free_now, &total) == CUDA_SUCCESS);
    CHECK(free_now == free_before);
}

TEST_CASE("emulator memory: invalid sizes and frees return the driver's codes") {
    const Machine machine;
    const Current scope;
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAlloc, 3020)(&address, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemAlloc, 3020)(nullptr, 16) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemAlloc, 3020)(&address, std::size_t{1} << 44) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(release(0) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: an invalid free returns INVALID_VALUE and describes the address") {
    const Machine machine;
    const Current scope;
    const auto refused = [&](CUresult result, CUdeviceptr address, const std::string& why) {
        CHECK(result == CUDA_ERROR_INVALID_VALUE);
        CHECK(without_call(machine.take_report()) ==
              "The address " + hex(address) + " can't be freed: " + why + ".");
    };
    CUdeviceptr address = allocate(64);
    const std::string block = "64-byte device allocation at " + hex(address) + " (cuMemAlloc)";
    refused(release(address + 4), address + 4,
            "it is 4 bytes into the " + block + ", and only its start address can be freed");
    CHECK(release(address) == CUDA_SUCCESS);
    refused(release(address), address, "the " + block + " has already been freed");
    refused(release(address + 4), address + 4,
            "it is 4 bytes into the " + block + ", which has already been freed");
    int on_host = 0;
    address = reinterpret_cast<CUdeviceptr>(&on_host);
    refused(release(address), address, "it isn't in any allocation and may be a host pointer");

    void* locked = nullptr;
    REQUIRE(CU(cuMemAllocHost, 3020)(&locked, 32) == CUDA_SUCCESS);
    address = reinterpret_cast<CUdeviceptr>(locked);
    refused(release(address), address,
            "it is the 32-byte pinned host allocation at " + hex(address) +
                " (cuMemAllocHost), which must be freed with cuMemFreeHost");
    CHECK(CU(cuMemFreeHost, 2000)(locked) == CUDA_SUCCESS);
    address = allocate(16);
    refused(CU(cuMemFreeHost, 2000)(reinterpret_cast<void*>(address)), address,
            "it is the 16-byte device allocation at " + hex(address) +
                " (cuMemAlloc), which must be freed with cuMemFree");
    CUmodule module = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
    CUdeviceptr table = 0;
    std::size_t bytes = 0;
    REQUIRE(CU(cuModuleGetGlobal, 3020)(&table, &bytes, module, "table") == CUDA_SUCCESS);
    CHECK(release(table) == CUDA_ERROR_INVALID_VALUE);
    CHECK(without_call(machine.take_report()).find("which is freed with its module.") !=
          std::string::npos);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: a second free is refused, on a stream or not") {
    const Machine machine;
    const Current scope;
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    std::atomic<bool> open{false};
    const auto wait = [](void* gate) { static_cast<std::atomic<bool>*>(gate)->wait(false); };
    CUdeviceptr address = 0;
    CUdeviceptr nothing = 1;
    CHECK(CU(cuMemAllocAsync, 11020)(&nothing, 0, stream) == CUDA_SUCCESS);
    CHECK(nothing == 0);
    REQUIRE(CU(cuMemAllocAsync, 11020)(&address, 64, stream) == CUDA_SUCCESS);
    REQUIRE(CU(cuLaunchHostFunc, 10000)(stream, wait, &open) == CUDA_SUCCESS);
    CHECK(CU(cuMemFreeAsync, 11020)(address, stream) == CUDA_SUCCESS);
    const std::string twice = "a stream is already freeing the 64-byte device allocation at " +
                              hex(address) + " (cuMemAllocAsync).";
    CHECK(CU(cuMemFreeAsync, 11020)(address, stream) == CUDA_ERROR_INVALID_VALUE);
    CHECK(without_call(machine.take_report()).find(twice) != std::string::npos);
    open = true;
    open.notify_all();
    CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
    for (const bool by_stream : {true, false}) {
        CHECK((by_stream ? CU(cuMemFreeAsync, 11020)(address, stream) : release(address)) ==
              CUDA_ERROR_INVALID_VALUE);
        CHECK(
            without_call(machine.take_report()).find("(cuMemAllocAsync) has already been freed.") !=
            std::string::npos);
    }
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: allocating more than the free device memory fails") {
    const Machine machine;
    const Current scope;
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK(CU(cuMemGetInfo, 3020)(&free, &total) == CUDA_SUCCESS);
    const CUdeviceptr most = allocate(total - 4096);
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAlloc, 3020)(&address, 8192) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(address == 0);
    CHECK(release(most) == CUDA_SUCCESS);
    address = allocate(8192);
    CHECK(release(address) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: linear copies move bytes in every direction") {
    const Machine machine;
    const Current scope;
    std::vector<int> values(1000);
    std::iota(values.begin(), values.end(), 1);
    const std::size_t bytes = values.size() * sizeof(int);
    const CUdeviceptr one = allocate(bytes);
    const CUdeviceptr two = allocate(bytes);
    CHECK(CU(cuMemcpyHtoD, 3020)(one, values.data(), bytes) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyDtoD, 3020)(two, one, bytes) == CUDA_SUCCESS);
    CHECK(read<int>(two, values.size()) == values);
    std::vector<int> back(values.size());
    CHECK(CU(cuMemcpy, 4000)(reinterpret_cast<CUdeviceptr>(back.data()), two, bytes) ==
          CUDA_SUCCESS);
    CHECK(back == values);
    CHECK(release(one) == CUDA_SUCCESS);
    CHECK(release(two) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: copies beyond an allocation are refused with the distance") {
    const Machine machine;
    const Current scope;
    std::vector<char> host(200);
    const CUdeviceptr address = allocate(100);
    const std::string block =
        "\n  allocation: 100 bytes of device memory at " + hex(address) + " (cuMemAlloc)";
    CHECK(CU(cuMemcpyHtoD, 3020)(address + 101, host.data(), 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(without_call(machine.take_report()) ==
          "A copy or fill of 4 bytes starts past the end of a 100-byte allocation\n  address: " +
              hex(address + 101) + ", 1 byte past the end" + block);
    CHECK(CU(cuMemcpyHtoD, 3020)(address, host.data(), 101) == CUDA_ERROR_INVALID_VALUE);
    CHECK(without_call(machine.take_report()) ==
          "A copy or fill of 101 bytes goes 1 byte past the end of a 100-byte allocation\n"
          "  address: " +
              hex(address) + ", 0 bytes into it" + block);
    CHECK(CU(cuMemcpyDtoH, 3020)(host.data(), address + 60, 41) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemcpyDtoH, 3020)(host.data(), address + 60, 40) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyHtoD, 3020)(reinterpret_cast<CUdeviceptr>(host.data()), host.data(), 4) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(without_call(machine.take_report()).find("isn't in any allocation\n") !=
          std::string::npos);
    CHECK(CU(cuMemcpyHtoD, 3020)(address, nullptr, 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemcpyHtoD, 3020)(address, host.data(), 0) == CUDA_SUCCESS);
    CHECK(release(address) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyHtoD, 3020)(address, host.data(), 4) == CUDA_ERROR_INVALID_VALUE);
    CHECK(without_call(machine.take_report())
              .find("reaches a 100-byte allocation that has been freed\n") != std::string::npos);
}

TEST_CASE("emulator memory: device addresses are never treated as host addresses") {
    const Machine machine;
    const Current scope;
    const CUdeviceptr living = allocate(4096);
    const CUdeviceptr freed = allocate(4096);
    REQUIRE(release(freed) == CUDA_SUCCESS);
    void* pinned = nullptr;
    REQUIRE(CU(cuMemAllocHost, 3020)(&pinned, 64) == CUDA_SUCCESS);
    std::vector<char> host(1 << 16);
    const auto here = reinterpret_cast<CUdeviceptr>(host.data());
    constexpr CUdeviceptr far = CUdeviceptr{1} << 36;  // Reserved, never allocated.
    for (const CUdeviceptr wrong :
         {living + 4096, living + 4090, freed, freed + 100, living + far}) {
        CAPTURE(wrong - living);
        CHECK(CU(cuMemcpy, 4000)(here, wrong, 64) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpy, 4000)(wrong, here, 64) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpyDtoH, 3020)(reinterpret_cast<void*>(wrong), living, 64) ==
              CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(CU(cuMemcpyDtoH, 3020)(pinned, living, 64) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyDtoH, 3020)(pinned, living, 65) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFreeHost, 2000)(pinned) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyDtoH, 3020)(pinned, living, 64) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemcpy, 4000)(here, here + 4096, 64) == CUDA_SUCCESS);
    CHECK(release(living) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: memset repeats 8, 16 and 32 bits and checks alignment") {
    const Machine machine;
    const Current scope;
    const CUdeviceptr address = allocate(64);
    CHECK(CU(cuMemsetD8, 3020)(address, 0x11, 64) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD16, 3020)(address + 2, 0x2233, 1) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD32, 3020)(address + 4, 0x44556677, 2) == CUDA_SUCCESS);
    CHECK(read<std::uint32_t>(address, 4) ==
          std::vector<std::uint32_t>{0x22331111, 0x44556677, 0x44556677, 0x11111111});
    CHECK(CU(cuMemsetD16, 3020)(address + 1, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemsetD32, 3020)(address + 2, 0, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemsetD32, 3020)(address, 0, 17) == CUDA_ERROR_INVALID_VALUE);
    CHECK(release(address) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: pitched rows are copied and filled in two dimensions") {
    const Machine machine;
    const Current scope;
    constexpr std::size_t width = 10;
    constexpr std::size_t height = 4;
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    CHECK(CU(cuMemAllocPitch, 3020)(&address, &pitch, width, height, 4) == CUDA_SUCCESS);
    CHECK(pitch >= width);
    CHECK(pitch % 512 == 0);
    CHECK(CU(cuMemAllocPitch, 3020)(&address, &pitch, width, height, 3) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemsetD2D8, 3020)(address, pitch, 0xee, width, height) == CUDA_SUCCESS);
    std::vector<unsigned char> host(width * height);
    std::iota(host.begin(), host.end(), static_cast<unsigned char>(0));
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host.data();
    copy.srcPitch = width;
    copy.srcXInBytes = 2;
    copy.srcY = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = address;
    copy.dstPitch = pitch;
    copy.dstXInBytes = 1;
    copy.WidthInBytes = 3;
    copy.Height = 2;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_SUCCESS);
    const auto rows = read<unsigned char>(address, 2 * pitch);
    CHECK(std::vector(rows.begin(), rows.begin() + 5) ==
          std::vector<unsigned char>{0xee, 12, 13, 14, 0xee});
    CHECK(rows[pitch + 1] == 22);
    copy.WidthInBytes = 9;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_ERROR_INVALID_VALUE);
    copy.WidthInBytes = 3;
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    CHECK(CU(cuMemcpy2D, 3020)(&copy) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(release(address) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: planes are copied in three dimensions") {
    const Machine machine;
    const Current scope;
    std::vector<unsigned char> host(4 * 3 * 2);
    std::iota(host.begin(), host.end(), static_cast<unsigned char>(0));
    const CUdeviceptr address = allocate(host.size());
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host.data();
    copy.srcPitch = 4;
    copy.srcHeight = 3;
    copy.srcZ = 1;
    copy.srcY = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = address;
    copy.dstPitch = 2;
    copy.dstHeight = 2;
    copy.WidthInBytes = 2;
    copy.Height = 2;
    copy.Depth = 1;
    CHECK(CU(cuMemcpy3D, 3020)(&copy) == CUDA_SUCCESS);
    CHECK(read<unsigned char>(address, 4) == std::vector<unsigned char>{16, 17, 20, 21});
    CHECK(release(address) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: page-locked memory has the same address on host and device") {
    const Machine machine;
    const Current scope;
    void* host = nullptr;
    CHECK(CU(cuMemHostAlloc, 2020)(&host, 256, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_HOST_ALLOCATIONS) == 1);
    static_cast<int*>(host)[3] = 42;
    CUdeviceptr device = 0;
    CHECK(CU(cuMemHostGetDevicePointer, 3020)(&device, host, 0) == CUDA_SUCCESS);
    CHECK(device == reinterpret_cast<CUdeviceptr>(host));
    unsigned flags = 0;
    CHECK(CU(cuMemHostGetFlags, 2030)(&flags, host) == CUDA_SUCCESS);
    CHECK((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    CHECK(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device) == CU_MEMORYTYPE_HOST);
    CHECK(CU(cuMemFree, 3020)(device) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFreeHost, 2000)(host) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_HOST_ALLOCATIONS) == 0);
    CHECK(CU(cuMemFreeHost, 2000)(host) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator memory: host memory can be registered only once") {
    const Machine machine;
    const Current scope;
    std::vector<int> host(64);
    const std::size_t bytes = host.size() * sizeof(int);
    CHECK(CU(cuMemHostRegister, 6050)(host.data(), bytes, 0) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_HOST_REGISTRATIONS) == 1);
    CHECK(CU(cuMemHostRegister, 6050)(host.data(), bytes, 0) ==
          CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CUdeviceptr device = 0;
    CHECK(CU(cuMemHostGetDevicePointer, 3020)(&device, host.data(), 0) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD32, 3020)(device, 7, host.size()) == CUDA_SUCCESS);
    CHECK(std::all_of(host.begin(), host.end(), [](int value) { return value == 7; }));
    CHECK(CU(cuMemHostUnregister, 4000)(host.data()) == CUDA_SUCCESS);
    CHECK(CU(cuMemHostUnregister, 4000)(host.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    CHECK(machine.live(LODE_EMULATOR_HOST_REGISTRATIONS) == 0);
}

TEST_CASE("emulator memory: managed memory is read and written by the host") {
    const Machine machine;
    const Current scope;
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAllocManaged, 6000)(&address, 16, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemAllocManaged, 6000)(&address, 16, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    reinterpret_cast<int*>(address)[0] = 5;
    CHECK(read<int>(address, 1) == std::vector<int>{5});
    CHECK(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 1);
    CHECK(attribute<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address) ==
          reinterpret_cast<void*>(address));
    CHECK(CU(cuMemPrefetchAsync, 8000)(address, 16, 0, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemPrefetchAsync, 8000)(address, 17, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(release(address) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: pointer attributes distinguish device memory from other memory") {
    const Machine machine("sm_80,sm_90");
    const Current scope(1);
    const CUdeviceptr address = allocate(400);
    CHECK(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 8) ==
          CU_MEMORYTYPE_DEVICE);
    CHECK(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == 1);
    CHECK(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, address) == scope.native());
    CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 8) == address);
    CHECK(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == 400);
    int on_host = 0;
    const auto foreign = reinterpret_cast<CUdeviceptr>(&on_host);
    unsigned type = 9;
    CHECK(CU(cuPointerGetAttribute, 4000)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, foreign) ==
          CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void* into = &type;
    CHECK(CU(cuPointerGetAttributes, 7000)(1, &which, &into, foreign) == CUDA_SUCCESS);
    CHECK(type == 0);
    CHECK(release(address) == CUDA_SUCCESS);
}

TEST_CASE("emulator memory: a location's pools are those of its device") {
    const Machine machine("sm_80,sm_90");
    const Current scope(0);
    CUmemLocation place{CU_MEM_LOCATION_TYPE_DEVICE, 1};
    CUmemoryPool of_device = nullptr;
    CUmemoryPool pool = nullptr;
    CHECK(CU(cuDeviceGetDefaultMemPool, 11020)(&of_device, 1) == CUDA_SUCCESS);
    CHECK(CU(cuMemGetDefaultMemPool, 13000)(&pool, &place, CU_MEM_ALLOCATION_TYPE_PINNED) ==
          CUDA_SUCCESS);
    CHECK(pool == of_device);

    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = place;
    CUmemoryPool own = nullptr;
    REQUIRE(CU(cuMemPoolCreate, 11020)(&own, &properties) == CUDA_SUCCESS);
    CHECK(CU(cuMemSetMemPool, 13000)(&place, CU_MEM_ALLOCATION_TYPE_PINNED, own) == CUDA_SUCCESS);
    CHECK(CU(cuMemGetMemPool, 13000)(&pool, &place, CU_MEM_ALLOCATION_TYPE_PINNED) == CUDA_SUCCESS);
    CHECK(pool == own);
    CHECK(CU(cuDeviceGetMemPool, 11020)(&pool, 1) == CUDA_SUCCESS);
    CHECK(pool == own);
    CUmemLocation other{CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CHECK(CU(cuMemSetMemPool, 13000)(&other, CU_MEM_ALLOCATION_TYPE_PINNED, own) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemPoolDestroy, 11020)(own) == CUDA_SUCCESS);

    other.id = 2;
    CHECK(CU(cuMemGetMemPool, 13000)(&pool, &other, CU_MEM_ALLOCATION_TYPE_PINNED) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemGetMemPool, 13000)(&pool, nullptr, CU_MEM_ALLOCATION_TYPE_PINNED) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator memory: stream-ordered memory comes from pools") {
    const Machine machine("sm_80,sm_90");
    const Current scope(1);
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAllocAsync, 11020)(&address, 256, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD8Async, 3020)(address, 3, 256, nullptr) == CUDA_SUCCESS);
    CUmemoryPool pool = nullptr;
    CHECK(CU(cuDeviceGetDefaultMemPool, 11020)(&pool, 1) == CUDA_SUCCESS);
    cuuint64_t used = 0;
    CHECK(CU(cuMemPoolGetAttribute, 11020)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) ==
          CUDA_SUCCESS);
    CHECK(used == 256);
    CHECK(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) == pool);
    CHECK(CU(cuMemFreeAsync, 11020)(address, nullptr) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(CU(cuMemFreeAsync, 11020)(address, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuStreamSynchronize, 2000)(nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemPoolGetAttribute, 11020)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) ==
          CUDA_SUCCESS);
    CHECK(used == 0);
    CHECK(CU(cuMemPoolDestroy, 11020)(pool) == CUDA_ERROR_INVALID_VALUE);

    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    CUmemoryPool own = nullptr;
    CHECK(CU(cuMemPoolCreate, 11020)(&own, &properties) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_MEMORY_POOLS) == 1);
    CHECK(CU(cuMemAllocFromPoolAsync, 11020)(&address, 64, own, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(address) == CUDA_SUCCESS);
    cuuint64_t threshold = 1 << 20;
    CHECK(CU(cuMemPoolSetAttribute, 11020)(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) ==
          CUDA_SUCCESS);
    CHECK(CU(cuMemPoolDestroy, 11020)(own) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_MEMORY_POOLS) == 0);
}

TEST_CASE("emulator memory: a pool reserves whole chunks until a synchronisation") {
    const Machine machine;
    const Current current;
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    REQUIRE(CU(cuMemPoolCreate, 11020)(&pool, &properties) == CUDA_SUCCESS);
    const auto expect = [&](cuuint64_t used, cuuint64_t reserved) {
        cuuint64_t value = 1;
        const auto read = [&](CUmemPool_attribute which) {
            CHECK(CU(cuMemPoolGetAttribute, 11020)(pool, which, &value) == CUDA_SUCCESS);
            return value;
        };
        CHECK(read(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == used);
        CHECK(read(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == reserved);
    };
    constexpr cuuint64_t chunk = 32 << 20;
    CUdeviceptr small = 0;
    CUdeviceptr large = 0;
    const auto allocate = CU(cuMemAllocFromPoolAsync, 11020);
    const auto free = CU(cuMemFreeAsync, 11020);
    CHECK(allocate(&small, 1024, pool, nullptr) == CUDA_SUCCESS);
    expect(1024, chunk);
    CHECK(allocate(&large, chunk, pool, nullptr) == CUDA_SUCCESS);
    expect(chunk + 1024, 2 * chunk);
    CHECK(free(large, nullptr) == CUDA_SUCCESS);
    expect(1024, 2 * chunk);  // Without waiting for the stream.
    CHECK(CU(cuStreamSynchronize, 2000)(nullptr) == CUDA_SUCCESS);
    expect(1024, chunk);
    CHECK(free(small, nullptr) == CUDA_SUCCESS);
    expect(0, chunk);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    expect(0, 0);
    CHECK(CU(cuMemPoolDestroy, 11020)(pool) == CUDA_SUCCESS);
}

TEST_CASE("memory: a copy past the end of a module's variable is refused") {
    const Machine machine;
    const Current current;
    constexpr const char* two = R"(.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 first[64];
.visible .global .align 4 .b8 second[64];
)";
    CUmodule module = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, two) == CUDA_SUCCESS);
    CUdeviceptr first = 0;
    REQUIRE(CU(cuModuleGetGlobal, 3020)(&first, nullptr, module, "first") == CUDA_SUCCESS);
    const std::vector<std::byte> bytes(128);
    CHECK(CU(cuMemcpyHtoD, 3020)(first + 4, bytes.data(), 60) == CUDA_SUCCESS);
    CHECK(CU(cuMemcpyHtoD, 3020)(first + 4, bytes.data(), 61) == CUDA_ERROR_INVALID_VALUE);
    CHECK(machine.take_report().starts_with(
        "A copy or fill of 61 bytes goes 1 byte past the end of the 64-byte variable first\n"));
    CHECK(CU(cuMemsetD8, 3020)(first, 0, 65) == CUDA_ERROR_INVALID_VALUE);
}
