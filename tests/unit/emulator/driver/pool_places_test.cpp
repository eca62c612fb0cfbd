// Memory pools of the host and of managed memory. The codes and values are those of an H200's
// driver (580).
#include "tests/unit/emulator/driver/emulator_library.hpp"

using namespace lode::emulator_test;

namespace {

constexpr auto pinned = CU_MEM_ALLOCATION_TYPE_PINNED;
constexpr auto managed = CU_MEM_ALLOCATION_TYPE_MANAGED;
constexpr CUmemLocation nowhere{CU_MEM_LOCATION_TYPE_INVALID, 0};
constexpr CUmemLocation on_device{CU_MEM_LOCATION_TYPE_DEVICE, 0};
constexpr CUmemLocation on_host{CU_MEM_LOCATION_TYPE_HOST, 0};
constexpr CUmemLocation on_node{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
constexpr CUmemLocation on_other_node{CU_MEM_LOCATION_TYPE_HOST_NUMA, 77};
constexpr CUmemLocation here{CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};

struct PoolBench {
    PoolBench() { REQUIRE(CU(cuStreamCreate, 2000)(&stream, 1) == CUDA_SUCCESS); }
    ~PoolBench() { CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS); }
    PoolBench(const PoolBench&) = delete;
    PoolBench& operator=(const PoolBench&) = delete;

    static CUresult create(CUmemoryPool& pool, CUmemAllocationType type, CUmemLocation place,
                           CUmemAllocationHandleType handles = CU_MEM_HANDLE_TYPE_NONE) {
        CUmemPoolProps properties{};
        properties.allocType = type;
        properties.location = place;
        properties.handleTypes = handles;
        return CU(cuMemPoolCreate, 11020)(&pool, &properties);
    }
    [[nodiscard]] CUdeviceptr allocate(CUmemoryPool pool) const {
        CUdeviceptr address = 0;
        REQUIRE(CU(cuMemAllocFromPoolAsync, 11020)(&address, 4096, pool, stream) == CUDA_SUCCESS);
        REQUIRE(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
        return address;
    }
    template <class T>
    static T attribute(CUpointer_attribute which, CUdeviceptr address) {
        T value{};
        CHECK(CU(cuPointerGetAttribute, 4000)(&value, which, address) == CUDA_SUCCESS);
        return value;
    }
    static CUresult grant(CUmemoryPool pool, CUmemLocation place, CUmemAccess_flags flags) {
        const CUmemAccessDesc one{place, flags};
        return CU(cuMemPoolSetAccess, 11020)(pool, &one, 1);
    }
    static CUmemAccess_flags access(CUmemoryPool pool, CUmemLocation place) {
        CUmemAccess_flags flags{};
        CHECK(CU(cuMemPoolGetAccess, 11020)(&flags, pool, &place) == CUDA_SUCCESS);
        return flags;
    }
    static CUmemoryPool pool_of(CUmemLocation place, CUmemAllocationType type, bool current) {
        CUmemoryPool pool = nullptr;
        const CUresult state = current ? CU(cuMemGetMemPool, 13000)(&pool, &place, type)
                                       : CU(cuMemGetDefaultMemPool, 13000)(&pool, &place, type);
        CHECK(state == CUDA_SUCCESS);
        return pool;
    }

    const Machine machine;
    const Current scope;
    CUstream stream = nullptr;
};

}  // namespace

TEST_CASE("emulator pools: memory of host pools is page-locked, and kernels and the host use it") {
    const PoolBench bench;
    for (const CUmemLocation& place : {on_host, on_node}) {
        CUmemoryPool pool = nullptr;
        REQUIRE(PoolBench::create(pool, pinned, place) == CUDA_SUCCESS);
        const CUdeviceptr address = bench.allocate(pool);
        CHECK(PoolBench::attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
              CU_MEMORYTYPE_HOST);
        CHECK(PoolBench::attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 0);
        CHECK(PoolBench::attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address) ==
              pool);
        CHECK(PoolBench::attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, address) == nullptr);
        auto* const words =
            PoolBench::attribute<unsigned*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address);
        CHECK(CU(cuMemsetD32Async, 3020)(address, 17, 1024, bench.stream) == CUDA_SUCCESS);
        CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_SUCCESS);
        CHECK(words[1023] == 17);
        cuuint64_t used = 0;
        CHECK(CU(cuMemPoolGetAttribute, 11020)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) ==
              CUDA_SUCCESS);
        CHECK(used == 4096);
        CHECK(CU(cuMemFreeHost, 2000)(words) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemFreeAsync, 11020)(address, bench.stream) == CUDA_SUCCESS);
        CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_SUCCESS);
        const CUdeviceptr second = bench.allocate(pool);
        CHECK(CU(cuMemFree, 3020)(second) == CUDA_SUCCESS);
        CHECK(CU(cuMemPoolGetAttribute, 11020)(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) ==
              CUDA_SUCCESS);
        CHECK(used == 0);
        CHECK(CU(cuMemPoolDestroy, 11020)(pool) == CUDA_SUCCESS);
    }
}

TEST_CASE("emulator pools: pools of managed memory have managed memory, wherever they are") {
    const PoolBench bench;
    for (const CUmemLocation& place : {nowhere, on_device, on_host, on_node, here}) {
        CAPTURE(static_cast<int>(place.type));
        CUmemoryPool pool = nullptr;
        REQUIRE(PoolBench::create(pool, managed, place) == CUDA_SUCCESS);
        const CUdeviceptr address = bench.allocate(pool);
        CHECK(PoolBench::attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
              CU_MEMORYTYPE_DEVICE);
        CHECK(PoolBench::attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 1);
        CHECK(PoolBench::attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address) ==
              address);
        *reinterpret_cast<unsigned*>(address) = 5;
        unsigned read = 0;
        CHECK(CU(cuMemcpyDtoH, 3020)(&read, address, 4) == CUDA_SUCCESS);
        CHECK(read == 5);
        CHECK(CU(cuMemFreeAsync, 11020)(address, bench.stream) == CUDA_SUCCESS);
        CHECK(CU(cuStreamSynchronize, 2000)(bench.stream) == CUDA_SUCCESS);
        CHECK(CU(cuMemPoolDestroy, 11020)(pool) == CUDA_SUCCESS);
    }
}

TEST_CASE("emulator pools: places and handles that pools can't have") {
    const PoolBench bench;
    CUmemoryPool pool = nullptr;
    for (const CUmemLocation& place :
         {nowhere, on_other_node, here, CUmemLocation{on_device.type, 9}})
        CHECK(PoolBench::create(pool, pinned, place) == CUDA_ERROR_INVALID_VALUE);
    for (const CUmemLocation& place : {on_other_node, CUmemLocation{on_device.type, 9}})
        CHECK(PoolBench::create(pool, managed, place) == CUDA_ERROR_INVALID_VALUE);
    for (const CUmemLocation& place : {nowhere, on_device, on_host, on_node})
        CHECK(PoolBench::create(pool, managed, place, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
              CUDA_ERROR_INVALID_VALUE);
    CHECK(PoolBench::create(pool, pinned, on_host, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(PoolBench::create(pool, CU_MEM_ALLOCATION_TYPE_INVALID, on_device) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator pools: every place has a default pool and a current one") {
    const PoolBench bench;
    const struct {
        CUmemAllocationType type;
        CUmemLocation place;
    } all[] = {{pinned, on_device},  {pinned, on_host},  {pinned, on_node}, {managed, nowhere},
               {managed, on_device}, {managed, on_host}, {managed, on_node}};
    for (const auto& [type, place] : all) {
        CAPTURE(static_cast<int>(type));
        CAPTURE(static_cast<int>(place.type));
        const CUmemoryPool original = PoolBench::pool_of(place, type, false);
        CHECK(PoolBench::pool_of(place, type, true) == original);
        CHECK(CU(cuMemPoolDestroy, 11020)(original) == CUDA_ERROR_INVALID_VALUE);
        CUmemoryPool own = nullptr;
        REQUIRE(PoolBench::create(own, type, place) == CUDA_SUCCESS);
        CHECK(bench.machine.live(LODE_EMULATOR_MEMORY_POOLS) == 1);
        CUmemLocation at = place;
        const auto other = type == pinned ? managed : pinned;
        CHECK(CU(cuMemSetMemPool, 13000)(&at, other, own) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemSetMemPool, 13000)(&at, type, own) == CUDA_SUCCESS);
        CHECK(PoolBench::pool_of(place, type, true) == own);
        CHECK(CU(cuMemPoolDestroy, 11020)(own) == CUDA_SUCCESS);
        CHECK(PoolBench::pool_of(place, type, true) == original);
    }
    CUmemLocation at = here;
    CUmemoryPool pool = nullptr;
    CHECK(CU(cuMemGetMemPool, 13000)(&pool, &at, managed) == CUDA_ERROR_NOT_SUPPORTED);
    at = nowhere;
    CHECK(CU(cuMemGetMemPool, 13000)(&pool, &at, pinned) == CUDA_ERROR_INVALID_VALUE);
    CHECK(bench.machine.live(LODE_EMULATOR_MEMORY_POOLS) == 0);
}

TEST_CASE("emulator pools: access is granted and read by place") {
    constexpr auto none = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    constexpr auto reads = CU_MEM_ACCESS_FLAGS_PROT_READ;
    constexpr auto all = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const PoolBench bench;
    CUmemoryPool device = nullptr;
    CUmemoryPool host = nullptr;
    CUmemoryPool both = nullptr;
    REQUIRE(PoolBench::create(device, pinned, on_device) == CUDA_SUCCESS);
    REQUIRE(PoolBench::create(host, pinned, on_host) == CUDA_SUCCESS);
    REQUIRE(PoolBench::create(both, managed, on_device) == CUDA_SUCCESS);
    CHECK(PoolBench::access(device, on_device) == all);
    CHECK(PoolBench::access(device, on_host) == none);
    CHECK(PoolBench::access(host, on_device) == none);
    CHECK(PoolBench::access(host, on_node) == all);
    CHECK(PoolBench::access(both, on_device) == none);
    CHECK(PoolBench::access(both, on_host) == none);
    CHECK(PoolBench::grant(device, on_host, all) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(PoolBench::grant(device, on_device, none) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(PoolBench::grant(device, on_device, reads) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(PoolBench::grant(host, on_host, all) == CUDA_SUCCESS);
    CHECK(PoolBench::grant(host, on_host, none) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(PoolBench::grant(host, on_device, all) == CUDA_SUCCESS);
    CHECK(PoolBench::access(host, on_device) == all);
    CHECK(PoolBench::grant(host, on_device, none) == CUDA_SUCCESS);
    CHECK(PoolBench::access(host, on_device) == none);
    CHECK(PoolBench::grant(both, on_host, none) == CUDA_SUCCESS);
    for (const CUmemoryPool pool : {device, host, both})
        CHECK(CU(cuMemPoolDestroy, 11020)(pool) == CUDA_SUCCESS);
}

TEST_CASE("emulator pools: a capture refuses host memory by name") {
    const PoolBench bench;
    CUmemoryPool pool = nullptr;
    REQUIRE(PoolBench::create(pool, pinned, on_host) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamBeginCapture, 10010)(bench.stream, CU_STREAM_CAPTURE_MODE_RELAXED) ==
            CUDA_SUCCESS);
    CUdeviceptr address = 0;
    CHECK(CU(cuMemAllocFromPoolAsync, 11020)(&address, 64, pool, bench.stream) ==
          CUDA_ERROR_NOT_SUPPORTED);
    CHECK(bench.machine.log().find("allocations of managed or host memory in a capture") !=
          std::string::npos);
    CUgraph graph = nullptr;
    CU(cuStreamEndCapture, 10000)(bench.stream, &graph);
    CHECK(CU(cuMemPoolDestroy, 11020)(pool) == CUDA_SUCCESS);
}
