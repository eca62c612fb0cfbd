#include "tests/unit/emulator/driver/emulator_library.hpp"

using namespace lode::emulator_test;

namespace {

constexpr std::size_t node_bytes = 4096;

/// A graph and a stream.
class MemoryBench {
public:
    MemoryBench() {
        REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        REQUIRE(CU(cuGraphCreate, 10000)(&graph, 0) == CUDA_SUCCESS);
    }
    ~MemoryBench() {
        CHECK(CU(cuGraphDestroy, 10000)(graph) == CUDA_SUCCESS);
        CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
    }
    MemoryBench(const MemoryBench&) = delete;
    MemoryBench& operator=(const MemoryBench&) = delete;

    static CUDA_MEM_ALLOC_NODE_PARAMS_v1 on_device(int device = 0) {
        CUDA_MEM_ALLOC_NODE_PARAMS_v1 p{};
        p.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        p.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
        p.bytesize = node_bytes;
        return p;
    }
    CUdeviceptr add_alloc() {
        auto p = on_device();
        REQUIRE(CU(cuGraphAddMemAllocNode, 11040)(&node, graph, nullptr, 0, &p) == CUDA_SUCCESS);
        REQUIRE(p.dptr != 0);
        return p.dptr;
    }
    CUresult add_free(CUgraph to, CUdeviceptr address, CUgraphNode after = nullptr) {
        return CU(cuGraphAddMemFreeNode, 11040)(&node, to, &after, after == nullptr ? 0 : 1,
                                                address);
    }
    CUgraphExec instantiate(unsigned long long flags = 0) const {
        CUgraphExec exec = nullptr;
        REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, graph, flags) == CUDA_SUCCESS);
        return exec;
    }
    CUresult launch(CUgraphExec exec) const {
        const CUresult result = CU(cuGraphLaunch, 10000)(exec, stream);
        CHECK(CU(cuStreamSynchronize, 2000)(stream) == CUDA_SUCCESS);
        return result;
    }
    static cuuint64_t attribute(CUgraphMem_attribute which) {
        cuuint64_t value = 0;
        CHECK(CU(cuDeviceGetGraphMemAttribute, 11040)(0, which, &value) == CUDA_SUCCESS);
        return value;
    }

    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
};

void destroy_exec(CUgraphExec exec) {
    CHECK(CU(cuGraphExecDestroy, 10000)(exec) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("emulator graph memory: what a graph leaves allocated must be freed before a relaunch") {
    const Machine machine;
    const Current scope;
    MemoryBench bench;
    const CUdeviceptr memory = bench.add_alloc();
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_ERROR_INVALID_VALUE);
    const CUgraphExec exec = bench.instantiate();
    REQUIRE(bench.launch(exec) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    CHECK(CU(cuMemsetD8, 3020)(memory, 7, node_bytes) == CUDA_SUCCESS);
    CHECK(bench.launch(exec) == CUDA_ERROR_INVALID_VALUE);
    CHECK(machine.log().find("hasn't been freed since the last launch") != std::string::npos);
    CHECK(CU(cuMemFreeAsync, 11020)(memory, bench.stream) == CUDA_SUCCESS);
    CHECK(CU(cuMemFreeAsync, 11020)(memory, bench.stream) == CUDA_ERROR_INVALID_VALUE);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    REQUIRE(bench.launch(exec) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CUgraphExec second = nullptr;
    CHECK(CU(cuGraphInstantiateWithFlags, 11040)(&second, bench.graph, 0) ==
          CUDA_ERROR_INVALID_VALUE);
    destroy_exec(exec);
    const CUgraphExec renewed = bench.instantiate(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    CHECK(bench.launch(renewed) == CUDA_SUCCESS);
    CHECK(bench.launch(renewed) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    destroy_exec(renewed);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph memory: the statistics of a device, and their reset") {
    const Machine machine;
    const Current scope;
    MemoryBench bench;
    const CUdeviceptr inside = bench.add_alloc();
    CHECK(bench.add_free(bench.graph, inside, bench.node) == CUDA_SUCCESS);
    CHECK(bench.add_free(bench.graph, inside) == CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr left = bench.add_alloc();
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 0);
    const CUgraphExec exec = bench.instantiate();
    REQUIRE(bench.launch(exec) == CUDA_SUCCESS);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == node_bytes);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == 2 * node_bytes);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == 2 * node_bytes);
    CHECK(CU(cuDeviceGraphMemTrim, 11040)(0) == CUDA_SUCCESS);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) == node_bytes);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == 2 * node_bytes);
    const auto set = CU(cuDeviceSetGraphMemAttribute, 11040);
    cuuint64_t value = 0;
    CHECK(set(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value) == CUDA_SUCCESS);
    CHECK(set(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &value) == CUDA_SUCCESS);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) == node_bytes);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) == node_bytes);
    CHECK(set(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value) == CUDA_ERROR_INVALID_VALUE);
    value = 1;
    CHECK(set(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuDeviceGraphMemTrim, 11040)(9) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(CU(cuMemFreeAsync, 11020)(left, bench.stream) == CUDA_SUCCESS);
    CHECK(bench.attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) == 0);
    destroy_exec(exec);
}

TEST_CASE("emulator graph memory: another graph frees it, once") {
    const Machine machine;
    const Current scope;
    MemoryBench bench;
    const CUdeviceptr memory = bench.add_alloc();
    CUDA_MEM_ALLOC_NODE_PARAMS_v1 read{};
    CHECK(CU(cuGraphMemAllocNodeGetParams, 11040)(bench.node, &read) == CUDA_SUCCESS);
    CHECK(read.dptr == memory);
    CHECK(read.bytesize == node_bytes);
    CUgraph freeing = nullptr;
    REQUIRE(CU(cuGraphCreate, 10000)(&freeing, 0) == CUDA_SUCCESS);
    REQUIRE(bench.add_free(freeing, memory) == CUDA_SUCCESS);
    CUdeviceptr freed = 0;
    CHECK(CU(cuGraphMemFreeNodeGetParams, 11040)(bench.node, &freed) == CUDA_SUCCESS);
    CHECK(freed == memory);
    CHECK(bench.add_free(bench.graph, memory) == CUDA_ERROR_INVALID_VALUE);
    CUgraphExec frees = nullptr;
    REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&frees, freeing, 0) == CUDA_SUCCESS);
    CHECK(bench.launch(frees) == CUDA_ERROR_INVALID_VALUE);  // Nothing is allocated yet.
    const CUgraphExec exec = bench.instantiate();
    for (int i = 0; i < 2; ++i) {
        CHECK(bench.launch(exec) == CUDA_SUCCESS);
        CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
        CHECK(bench.launch(frees) == CUDA_SUCCESS);
        CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    }
    destroy_exec(frees);
    destroy_exec(exec);
    CHECK(CU(cuGraphDestroy, 10000)(freeing) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph memory: wrong nodes, and graphs that can't be copied or cut") {
    const Machine machine;
    const Current scope;
    MemoryBench bench;
    auto wrong = MemoryBench::on_device(9);
    const auto add = CU(cuGraphAddMemAllocNode, 11040);
    CHECK(add(&bench.node, bench.graph, nullptr, 0, &wrong) == CUDA_ERROR_INVALID_DEVICE);
    wrong = MemoryBench::on_device();
    wrong.bytesize = 0;
    CHECK(add(&bench.node, bench.graph, nullptr, 0, &wrong) == CUDA_ERROR_INVALID_VALUE);
    CHECK(add(&bench.node, bench.graph, nullptr, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
    // The codes of a GPU's driver (CUDA 13.0) for every kind of memory and place.
    for (const int kind : {CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED}) {
        for (int place = 0; place <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT; ++place) {
            auto tried = MemoryBench::on_device();
            tried.poolProps.allocType = static_cast<CUmemAllocationType>(kind);
            tried.poolProps.location = {static_cast<CUmemLocationType>(place), 0};
            const bool is_device = place == CU_MEM_LOCATION_TYPE_DEVICE;
            const bool is_named =
                place == CU_MEM_LOCATION_TYPE_HOST || place == CU_MEM_LOCATION_TYPE_HOST_NUMA;
            const auto expected = is_device ? CUDA_SUCCESS
                                  : is_named || kind == CU_MEM_ALLOCATION_TYPE_MANAGED
                                      ? CUDA_ERROR_NOT_SUPPORTED
                                      : CUDA_ERROR_INVALID_VALUE;
            CUgraph other = nullptr;
            REQUIRE(CU(cuGraphCreate, 10000)(&other, 0) == CUDA_SUCCESS);
            CHECK(add(&bench.node, other, nullptr, 0, &tried) == expected);
            CHECK(CU(cuGraphDestroy, 10000)(other) == CUDA_SUCCESS);
        }
    }
    CUdeviceptr plain = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&plain, node_bytes) == CUDA_SUCCESS);
    CHECK(bench.add_free(bench.graph, plain) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFree, 3020)(plain) == CUDA_SUCCESS);
    const CUdeviceptr memory = bench.add_alloc();
    CUgraphNode allocates = bench.node;
    REQUIRE(bench.add_free(bench.graph, memory, allocates) == CUDA_SUCCESS);
    CHECK(CU(cuGraphDestroyNode, 10000)(bench.node) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuGraphRemoveDependencies, 10000)(bench.graph, &allocates, &bench.node, 1) ==
          CUDA_ERROR_INVALID_VALUE);
    CUgraph clone = nullptr;
    CHECK(CU(cuGraphClone, 10000)(&clone, bench.graph) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator graph memory: allocations and frees in a capture become nodes") {
    const Machine machine;
    const Current scope;
    MemoryBench bench;
    CUdeviceptr before = 0;
    REQUIRE(CU(cuMemAllocAsync, 11020)(&before, node_bytes, bench.stream) == CUDA_SUCCESS);
    REQUIRE(CU(cuStreamBeginCapture, 10010)(bench.stream, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
            CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    CHECK(CU(cuMemAllocAsync, 11020)(&memory, node_bytes, bench.stream) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD8Async, 3020)(memory, 5, node_bytes, bench.stream) == CUDA_SUCCESS);
    unsigned char read = 0;
    CHECK(CU(cuMemcpyDtoHAsync, 3020)(&read, memory + node_bytes - 1, 1, bench.stream) ==
          CUDA_SUCCESS);
    CHECK(CU(cuMemFreeAsync, 11020)(memory, bench.stream) == CUDA_SUCCESS);
    CHECK(CU(cuMemFreeAsync, 11020)(memory, bench.stream) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemFreeAsync, 11020)(before, bench.stream) == CUDA_ERROR_INVALID_VALUE);
    CUgraph captured = nullptr;
    REQUIRE(CU(cuStreamEndCapture, 10000)(bench.stream, &captured) == CUDA_SUCCESS);
    std::size_t count = 0;
    CHECK(CU(cuGraphGetNodes, 10000)(captured, nullptr, &count) == CUDA_SUCCESS);
    CHECK(count == 4);
    CUgraphExec exec = nullptr;
    REQUIRE(CU(cuGraphInstantiateWithFlags, 11040)(&exec, captured, 0) == CUDA_SUCCESS);
    CHECK(bench.launch(exec) == CUDA_SUCCESS);
    CHECK(bench.launch(exec) == CUDA_SUCCESS);
    CHECK(read == 5);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    CHECK(CU(cuMemFreeAsync, 11020)(before, bench.stream) == CUDA_SUCCESS);
    destroy_exec(exec);
    CHECK(CU(cuGraphDestroy, 10000)(captured) == CUDA_SUCCESS);
}

TEST_CASE("emulator graph memory: memory that outlives its graph is freed as usual") {
    const Machine machine;
    const Current scope;
    CUdeviceptr memory = 0;
    {
        MemoryBench bench;
        memory = bench.add_alloc();
        const CUgraphExec exec = bench.instantiate();
        CHECK(bench.launch(exec) == CUDA_SUCCESS);
        destroy_exec(exec);
    }
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 1);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_DEVICE_ALLOCATIONS) == 0);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_ERROR_INVALID_VALUE);
}
